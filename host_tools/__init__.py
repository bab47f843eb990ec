"""The toolkit of Quadra: builds the delegate, runs models, keeps what happened, judges it."""
