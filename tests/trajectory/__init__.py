"""A second `lra train`, in float64 PyTorch and without a line of the trainer: from the weights before a run's first step it
trains what the run trained, and compares step by step.

    streams.py     random numbers: Philox4x32-10, permutations, dropout masks
    batches.py     which examples are in which batch, padding, which tokens are hidden
    layers.py      functions of the model: positions, filters, attentions, the mixture of pixel values
    model.py       embedding, encoder, pooling, heads, norms over examples
    objectives.py  losses of labels, of guessed tokens and of pretraining
    optimizer.py   learning rates, decay, clipping; updates are those of torch.optim
    training.py    a step, averaged weights, validation
    compare.py     the replay of a run beside its curve, checkpoints and record
    data.py        small data sets
    cases.py       the configurations

Written from what config.proto and the headers say, so that a reader can hold each rule against its description; the package `lra` gives
the examples as the view says (ids and labels) and resolves the configuration. tests/python_trajectory_test.py runs it.
Shapes: B batch, N positions (with CLS where it is), H heads, D head width, E width, G guesses, C classes.
"""
