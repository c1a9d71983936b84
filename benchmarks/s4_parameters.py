#!/usr/bin/env python3
"""Counts what the S4 line trains, with its own code: CHECKOUT of state-spaces/s4 (e757cef).

Prints, for each experiment configs/experiment/lra/s4-*.yaml there, the numbers that its model trains as configured
(S4) and with its own diagonal layer (`model/layer=s4d`), which is what `s4d` is held against: the same that
tests/data/s4_tensors.tsv says tensor by tensor. A data set is replaced by its sizes, those of that table.

    python -m venv env && env/bin/pip install torch einops hydra-core omegaconf scipy opt_einsum pytorch-lightning
    env/bin/python benchmarks/s4_parameters.py CHECKOUT
"""
import logging
import sys
import types
import warnings

# Experiment: ours, vocabulary (0 = real pixels), classes.
EXPERIMENTS = {
    "listops": ("listops", 18, 10),
    "imdb": ("text", 134, 2),
    "aan": ("retrieval", 98, 2),
    "cifar": ("image", 0, 10),
    "pathfinder": ("pathfinder32", 0, 2),
    "pathx": ("pathx", 0, 2),
}


def compose(checkout, experiment, diagonal):
    """The experiment's configuration as its `train.py` gets it."""
    import hydra
    from omegaconf import OmegaConf

    overrides = [f"experiment=lra/s4-{experiment}"] + (["model/layer=s4d"] if diagonal else [])
    with hydra.initialize_config_dir(f"{checkout}/configs", version_base=None):
        config = hydra.compose("config", overrides=overrides)
    OmegaConf.update(config, "dataset.__l_max", 1024, force_add=True)  # no parameter has this size
    return OmegaConf.to_container(config, resolve=True, throw_on_missing=False)


def trained(config, vocabulary, classes):
    """The numbers in all parameters of the modules that SequenceLightningModule.setup() makes."""
    import src.utils as utils
    from src.tasks import decoders, encoders, tasks
    from src.utils import registry

    sizes = types.SimpleNamespace(d_input=1, d_output=classes, l_output=0, n_tokens=vocabulary)
    encoder = utils.to_list(config["encoder"]) + utils.to_list(config["model"].pop("encoder", None))
    decoder = utils.to_list(config["model"].pop("decoder", None)) + utils.to_list(config["decoder"])
    model = utils.instantiate(registry.model, config["model"])
    task = utils.instantiate(tasks.registry, config["task"], dataset=sizes, model=model)
    parts = [
        model,
        task.encoder,
        encoders.instantiate(encoder, dataset=sizes, model=model),
        task.decoder,
        decoders.instantiate(decoder, model=model, dataset=sizes),
    ]
    # One module may stand in two places.
    parameters = {id(p): p for part in parts if part is not None for p in part.parameters()}
    return sum(p.numel() for p in parameters.values() if p.requires_grad)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    checkout = sys.argv[1]
    sys.path.insert(0, checkout)
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    print(f"{'task':14}{'S4':>12}{'its S4D':>12}")
    for experiment, (task, vocabulary, classes) in EXPERIMENTS.items():
        counts = [trained(compose(checkout, experiment, diagonal), vocabulary, classes) for diagonal in (False, True)]
        print(f"{task:14}{counts[0]:>12,}{counts[1]:>12,}")


if __name__ == "__main__":
    main()
