/* Loaded by LD_PRELOAD: after n writes and syncs to a path with "faulty-disk" in it, all others fail. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>
static int left = -1, code = 0, broken = 0;
void arm(int n, int error) { left = n; code = error; broken = 0; }
static int fails(int fd) {
    char link[64], path[4096];
    if (left < 0) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t size = readlink(link, path, sizeof path - 1);
    if (size < 0) return 0;
    path[size] = 0;
    if (!strstr(path, "faulty-disk")) return 0;
    if (!broken && left-- > 0) return 0;
    left = 0;
    broken = 1;  /* a full disk stays full */
    errno = code;
    return 1;
}
#define WRAP(name, args, call) \
    ssize_t name args { static ssize_t (*real) args; if (!real) real = dlsym(RTLD_NEXT, #name); \
                        return fails(fd) ? -1 : real call; }
WRAP(write, (int fd, const void *b, size_t n), (fd, b, n))
WRAP(pwrite, (int fd, const void *b, size_t n, off_t o), (fd, b, n, o))
WRAP(pwrite64, (int fd, const void *b, size_t n, off64_t o), (fd, b, n, o))
int fsync(int fd) { return fails(fd) ? -1 : 0; }  /* the machine stays up: nothing need be synced */
