"""What is asked for: a model by name, its inputs, and the RunSpec that the words of the command line mean."""
