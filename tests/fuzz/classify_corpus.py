# SPDX-License-Identifier: MIT
"""Writes the seeds of the classifier's fuzzer into FOLDER, and its dictionary into FOLDER.dict.

Usage: classify_corpus.py FOLDER FAILURES.jsonl...
"""
import json, pathlib, sys
folder = pathlib.Path(sys.argv[1])
keywords = {"type": "object", "required": ["url"], "minProperties": 1, "additionalProperties": False,
            "properties": {"url": {"type": "string", "pattern": "^h(t|p)+s?", "maxLength": 9},
                           "n": {"anyOf": [{"multipleOf": 0.01}, {"enum": [1, None]}]},
                           "list": {"uniqueItems": True, "items": {"$ref": "#/definitions/d"}}},
            "definitions": {"d": {"not": {"const": 1.0}}}, "if": {"minProperties": 2}, "then": {"maxProperties": 3}}
contract = {"tools": [{"name": "fetch", "aliases": ["get"], "input_schema": keywords, "output_schema": {"type": "array"}}],
            "constraints": ["never", {"pattern": "a+b"}], "subgoals": ["s"], "context_limit": 10,
            "output_schema": {"oneOf": [{"type": "string"}, keywords]}}
steps = [{"action": "a", "tool_called": "fetch", "tool_input": {"url": 5, "list": [1, 1.0]}, "error": "boom"},
         {"tool_called": "ftch", "tool_output": [None], "llm_output": "aab", "metadata": {"tokens": 99}}]
for name in sys.argv[2:]:
    for number, line in enumerate(pathlib.Path(name).read_text(encoding="utf-8").splitlines()):
        if number % 20:
            continue
        row = json.loads(line)
        given = {"error": row["text"], **row["codes"]}
        if number % 100 == 0:
            given |= {"steps": steps, "contract": contract, "result": {"url": "x", "n": 0.5}, "task": "t"}
        (folder / f"{pathlib.Path(name).stem}-{number}").write_text(json.dumps(given), encoding="utf-8")
for shape in range(16):  # As tests/fuzz/classify.hpp reads them.
    for number, piece in enumerate(("a", "retry after 5s on the ", "\u00ff{[0]")):
        (folder / f"hostile-{shape}-{number}").write_bytes(b"hostile:" + bytes([shape, 32]) + piece.encode())
words = ["error", "steps", "contract", "tools", "input_schema", "output_schema", "tool_called", "tool_input", "tool_output",
         "llm_output", "constraints", "subgoals", "context_limit", "headers", "result", *keywords, "allOf", "anyOf", "oneOf",
         "not", "items", "pattern", "patternProperties", "multipleOf", "uniqueItems", "contains", "dependencies", "$ref", "$id"]
(folder.parent / "classify.dict").write_text("".join(f'"\\"{word}\\":"\n' for word in words), encoding="utf-8")
