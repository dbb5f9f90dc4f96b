"""Invalid model files are rejected before parsing: damage, pickles, external data, unknown operators."""

from __future__ import annotations

import contextlib
import io
import json
import pickle
import zipfile

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from pc2dae.edge.card import parse_card, render_card
from pc2dae.edge.onnx_check import SIZE_LIMIT, inspect, is_sealed, read_onnx, seal, verify_onnx
from pc2dae.edge.protobuf import Malformed, fields
from pc2dae.errors import ModelError


def model(*, domain="", external=False, nested=False, function=False, one=None):
    """A graph that adds one to its input, in several invalid forms."""
    one = numpy_helper.from_array(np.ones(1, np.float32), "one") if one is None else one
    if external:
        one.ClearField("raw_data")
        one.data_location = TensorProto.EXTERNAL
        entry = one.external_data.add()
        entry.key, entry.value = "location", "/etc/passwd"
    if nested:
        inner = helper.make_graph(
            [helper.make_node("Identity", ["x"], ["z"], domain=domain)], "inner", [],
            [helper.make_tensor_value_info("z", TensorProto.FLOAT, None)],
        )  # fmt: skip
        condition = numpy_helper.from_array(np.array(True), "c")
        nodes = [helper.make_node("If", ["c"], ["y"], then_branch=inner, else_branch=inner)]
        constants = [condition]
    else:
        nodes, constants = [helper.make_node("Add", ["x", "one"], ["y"], domain=domain)], [one]
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, [1]) for n in ("x", "y"))
    graph = helper.make_graph(nodes, "g", [x], [y], constants)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)])
    if function:
        made.functions.append(helper.make_function("mine", "f", ["a"], ["b"], [], []))
    return made.SerializeToString()


@pytest.fixture(autouse=True)
def nobody_opens_it(monkeypatch):
    def opened(*args, **kwargs):
        raise AssertionError("onnxruntime saw the file")

    monkeypatch.setattr("onnxruntime.InferenceSession", opened)


def refused(data, match, tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(data)
    with pytest.raises(ModelError, match=match) as error:
        read_onnx(path)
    assert "\n" not in str(error.value)


def test_a_whole_model_is_read(tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(seal(model()))
    data, facts = read_onnx(path)
    assert facts.inputs == ("x",)
    assert facts.outputs == ("y",)
    assert facts.metadata["pc2dae_seal"] == data[-64:].decode()
    onnx.load_model_from_string(data)  # the seal is ONNX, too


@given(st.data())
def test_any_flipped_bit_breaks_the_seal(data):
    whole = bytearray(seal(model()))
    bit = data.draw(st.integers(0, 8 * len(whole) - 1))
    whole[bit // 8] ^= 1 << (bit % 8)
    with pytest.raises(ModelError):
        verify_onnx(bytes(whole), where="model.onnx")


@given(st.integers(1, 400))
def test_any_truncation_breaks_the_seal(missing):
    whole = seal(model())
    assert not is_sealed(whole[: max(0, len(whole) - missing)])


def test_a_model_without_a_seal_is_refused(tmp_path):
    refused(model(), "damaged, truncated or not a pc2dae model", tmp_path)


def test_an_empty_file_is_refused(tmp_path):
    refused(b"", "not a pc2dae model", tmp_path)


def test_pickles_are_refused_as_such(tmp_path):
    refused(seal(pickle.dumps({"weights": [1.0]})), "is a pickle", tmp_path)
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("archive/data.pkl", b"cos\nsystem\n(S'true'\ntR.")
    refused(archive.getvalue(), "is a pickle", tmp_path)


def test_data_in_another_file_is_refused(tmp_path):
    refused(seal(model(external=True)), "stores data in another file", tmp_path)


def test_foreign_operators_are_refused_at_any_depth(tmp_path):
    refused(seal(model(domain="com.evil")), r"non-standard operators \('com.evil'\)", tmp_path)
    refused(seal(model(domain="com.microsoft", nested=True)), "non-standard operators", tmp_path)


def test_functions_of_its_own_are_refused(tmp_path):
    refused(seal(model(function=True)), "defines its own functions", tmp_path)


def raw(values, dtype):
    return numpy_helper.from_array(np.array(values, dtype), "one")


def listed(values, kind):
    return helper.make_tensor("one", kind, [len(values)], values)


FLOATS = [(raw, np.float32), (raw, np.float16), (raw, np.float64),
          (listed, TensorProto.FLOAT), (listed, TensorProto.DOUBLE),
          (listed, TensorProto.FLOAT16), (listed, TensorProto.BFLOAT16)]  # fmt: skip


@pytest.mark.parametrize(("make", "kind"), FLOATS)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_weights_that_are_not_finite_are_refused(make, kind, bad, tmp_path):
    refused(seal(model(one=make([1.0, bad, 2.0], kind))), "weights that are NaN or infinite", tmp_path)


@pytest.mark.parametrize(("make", "kind"), FLOATS)
def test_weights_of_any_finite_size_are_read(make, kind):
    largest = 6e4 if kind in (np.float16, TensorProto.FLOAT16) else 3e38
    verify_onnx(seal(model(one=make([0.0, -0.0, 1e-7, -largest, largest], kind))), where="model.onnx")


def test_integers_are_no_weights():
    verify_onnx(seal(model(one=raw([-1, 2**31 - 1, 0x7F80_0000], np.int32))), where="model.onnx")


def test_weights_nested_in_a_branch_are_looked_at(tmp_path):
    constant = helper.make_node("Constant", [], ["z"], value=raw([np.nan], np.float32))
    inner = helper.make_graph([constant], "inner", [], [helper.make_tensor_value_info("z", TensorProto.FLOAT, None)])
    condition = numpy_helper.from_array(np.array(True), "c")
    branch = helper.make_node("If", ["c"], ["y"], then_branch=inner, else_branch=inner)
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1])
    whole = helper.make_model(helper.make_graph([branch], "g", [], [y], [condition]))
    refused(seal(whole.SerializeToString()), "NaN or infinite", tmp_path)


def test_too_large_is_refused_without_reading(tmp_path, monkeypatch):
    path = tmp_path / "model.onnx"
    with path.open("wb") as file:
        file.truncate(SIZE_LIMIT + 1)
    monkeypatch.setattr(type(path), "read_bytes", lambda self: pytest.fail("it was read"))
    with pytest.raises(ModelError, match=r"5\.0 MB; a model may be at most 5 MB"):
        read_onnx(path)


def test_the_card_beside_it_must_name_these_bytes(tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(seal(model()))
    (tmp_path / "model.card.json").write_bytes(render_card({"sha256": {"onnx": "0" * 64}}))
    with pytest.raises(ModelError, match="differs from the one in the card"):
        read_onnx(path)


def test_a_sealed_file_that_is_no_onnx_is_refused(tmp_path):
    refused(seal(b"\xff" * 50), "not an ONNX file", tmp_path)


@given(st.binary(max_size=200))
def test_looking_at_any_bytes_ends_in_an_answer_or_a_refusal(data):
    with contextlib.suppress(ModelError):
        inspect(data, where="it")


def test_fields_by_hand():
    # field 1 varint 150, field 2 bytes "testing", field 5 fixed32
    data = b"\x08\x96\x01" + b"\x12\x07testing" + b"\x2d\x01\x02\x03\x04"
    assert [(n, bytes(v) if not isinstance(v, int) else v) for n, v in fields(memoryview(data))] == [
        (1, 150), (2, b"testing"), (5, b"\x01\x02\x03\x04"),
    ]  # fmt: skip
    with pytest.raises(Malformed):
        list(fields(memoryview(b"\x12\x09short")))


def test_a_flipped_bit_in_a_card_is_refused():
    whole = render_card({"name": "lean", "metrics": {"loss": 0.25}, "sha256": {"onnx": "ab"}})
    assert parse_card(whole, where="card")["metrics"] == {"loss": 0.25}
    for bit in range(8 * len(whole)):
        broken = bytearray(whole)
        broken[bit // 8] ^= 1 << (bit % 8)
        with pytest.raises(ModelError, match="damaged"):
            parse_card(bytes(broken), where="card")


def test_a_card_that_was_edited_by_hand_is_refused():
    card = json.loads(render_card({"name": "lean"}))
    card["name"] = "other"
    with pytest.raises(ModelError, match="damaged"):
        parse_card(json.dumps(card).encode(), where="card")
