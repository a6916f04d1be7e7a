"""The same bytes to two or more servers: their answers are compared by meaning, differences told by clause."""
