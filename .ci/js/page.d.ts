// Types of the page's JavaScript: the API's, generated from its description, and uPlot, which comes as a script.
import type { components, paths } from "./made/api";

type Verb = "get" | "post" | "put" | "patch" | "delete";
/** "/api/flights/{flight}" as the page writes it: `/api/flights/${string}`. */
type Filled<K> = K extends `${infer A}{${string}}${infer B}` ? `${A}${string}${Filled<B>}` : K;
type With<V extends Verb> = { [K in keyof paths]: paths[K][V] extends { responses: unknown } ? K : never }[keyof paths];
type Same<A, B> = A extends B ? (B extends A ? true : false) : false;
type Route<V extends Verb, P> = { [K in With<V>]: Same<Filled<K>, P> extends true ? paths[K][V] : never }[With<V>];
type Content<R> = R extends { content: { "application/json": infer T } } ? Whole<T> : null;
/** Responses contain every field, also those with a default. */
type Whole<T> = T extends object ? { [K in keyof T]-?: Whole<Exclude<T[K], undefined>> } : T;

declare global {
  /** Models of the API as the server sends them. */
  type Schemas = { [K in keyof components["schemas"]]: Whole<components["schemas"][K]> };
  /** Paths that answer a method. */
  type Path<V extends Verb> = Extract<Filled<With<V>>, string>;
  /** What a path answers with, by method. */
  type Answer<V extends Verb, P> = Route<V, P> extends { responses: infer R } ? { [S in Extract<keyof R, 200 | 201 | 202 | 204>]: Content<R[S]> }[Extract<keyof R, 200 | 201 | 202 | 204>] : never;
  /** The body that a path takes, by method. */
  type Sent<V extends Verb, P> = Route<V, P> extends { requestBody: { content: { "application/json": infer T } } } ? T : {};
  const uPlot: any;
}
