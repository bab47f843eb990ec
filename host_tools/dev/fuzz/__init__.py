"""Damaged models, options and run folders, made by seed: whoever reads them must say so in a sentence."""
