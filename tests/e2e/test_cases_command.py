"""CMD gets its arguments as they were written."""

import json

from support.bench import PYTHON

WORDS = ['["a", "b"]', "[x]", "[x,y]", "[]", "[[1],[2]]", "{}", '{"a": [1]}', "a,b", '"q"', "'q'",
         "`q`", "%MAKE", "@file", "#", ";", "\\", "[", "]", "--flag=[1,2]", ".[0]", "-x=[y]"]


def test_brackets_quotes_and_commas_in_arguments_are_just_characters(bench, echo):
    """jq filters, JSON, lists for pytest -k: what a program gets is what was written."""
    done = bench.run([PYTHON, "-c", "import sys, json; print(json.dumps(sys.argv[1:]))", *WORDS])
    assert json.loads(done.text) == WORDS, done
