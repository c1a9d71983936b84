"""Exceptions with the messages that the program `lra` prints."""
import importlib


class Error(Exception):
    """What a file, a name or a value had against it. `code` is the status's: "NOT_FOUND", "DATA_LOSS", ..."""

    code = "UNKNOWN"


class InvalidArgumentError(Error, ValueError):
    """A wrong name, field or value; the message has the nearest valid one."""

    code = "INVALID_ARGUMENT"


class UnknownSplitError(InvalidArgumentError, KeyError):
    """A name that is none of a data set's splits."""

    __str__ = Exception.__str__  # KeyError's puts the message in quotes


class NotFoundError(Error, LookupError):
    """A folder, file or split that is not there; the message has the command that makes it."""

    code = "NOT_FOUND"


class DataLossError(Error, OSError):
    """A file that is damaged or was changed."""

    code = "DATA_LOSS"


class FailedPreconditionError(Error):
    """What these data or records do not allow."""

    code = "FAILED_PRECONDITION"


class AlreadyExistsError(Error, FileExistsError):
    """A folder that would be overwritten."""

    code = "ALREADY_EXISTS"


_KINDS = {kind.code: kind for kind in (
    InvalidArgumentError, NotFoundError, DataLossError, FailedPreconditionError, AlreadyExistsError)}


def of_status(code: str, message: str) -> Error:
    """The exception of an absl::Status; called by the extension module."""
    error = _KINDS.get(code, Error)(message)
    error.code = code
    return error


def need_torch(what: str) -> None:
    """Raises ImportError that says how to get PyTorch, where `what` ("lra.check") would not find it."""
    try:
        importlib.import_module("torch")
    except ModuleNotFoundError as missing:
        if missing.name != "torch":
            raise
        raise ImportError(f"{what} needs torch: python -m pip install torch") from None
