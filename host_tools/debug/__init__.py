"""What is wrong or slow in a model: its first wrong op, values out of float16's range, nodes to leave in float32, advice."""
