"""Options by name. The library's tables are the only home of names, defaults, bounds and help."""
import ctypes
import functools
import keyword
import operator
from collections import namedtuple

from ._library import Handle, call, lib, make, struct

INT, FLOAT, FLAG, CHOICE, INTS, TEXT, NUMBERS, LAYERS = range(8)

# default: as a Python value; choices: words that are accepted, or what a text is
Option = namedtuple("Option", "name type default min max choices help")


def python_name(name):
    """An option as an argument: size-min is size_min; from, a keyword, is from_."""
    name = name.replace("-", "_")
    return name + "_" if keyword.iskeyword(name) else name


def option_name(name):
    return (name[:-1] if keyword.iskeyword(name[:-1]) else name).replace("_", "-")


def read_value(kind, text):
    if kind == FLAG:
        return text == "on" or text == "true"
    for convert in {INT: (int,), FLOAT: (float,)}.get(kind, ()):
        try:
            return convert(text)
        except ValueError:
            pass
    return text


def as_text(value):
    """A value for coke_options_set. True and None are words of flags and choices."""
    if value is True:
        return "on"
    if value is False or value is None:
        return "off"
    if isinstance(value, (list, tuple)):
        return ",".join(as_text(v) for v in value)
    return str(value)


class Options:
    """An option object of the library."""

    def __init__(self, kind, values=None):
        self.kind = kind
        self._handle = Handle(make("options_new", kind.encode()), "options_free")
        for name, value in (values or {}).items():
            self.set(name, value)

    @property
    def address(self):
        return self._handle.address

    def set(self, name, value):
        """Sets an option. The name may have _ for -; a list becomes comma-separated."""
        name = option_name(name)
        if hasattr(value, "item") and getattr(value, "ndim", 0) == 0:
            value = value.item()
        if hasattr(value, "tolist"):
            value = value.tolist()
        if isinstance(value, float):
            call("options_set_float", self.address, name.encode(), value)
        else:
            call("options_set", self.address, name.encode(), as_text(value).encode())

    def get(self, name):
        text = ctypes.create_string_buffer(4096)
        call("options_get", self.address, option_name(name).encode(), text, len(text))
        return text.value.decode()

    def table(self):
        rows = []
        for i in range(lib.options_count(self.address)):
            info = struct.coke_option_info()
            call("options_describe", self.address, i, ctypes.byref(info))
            name = info.name.decode()
            choices = info.choices.decode() if info.choices else None
            rows.append(Option(name, info.type, read_value(info.type, self.get(name)), info.min,
                               info.max, choices, info.help.decode()))
        return rows


@functools.lru_cache(maxsize=None)
def table(kind):
    """The options of a kind, in the order of `coke help`."""
    return tuple(Options(kind).table())


def type_of(option):
    """Its type for documentation and stubs."""
    words = option.choices.split("|") if option.choices else []
    literal = "Literal[%s]" % ", ".join(repr(w) for w in words)
    if option.type == FLAG:
        return "bool"
    if option.type == CHOICE:
        return literal + (" | None" if "off" in words else "")
    if option.type == INT:
        return "int" + (" | " + literal if words else "")
    if option.type == FLOAT:
        return "float" + (" | " + literal if words else "")
    if option.type in (INTS, NUMBERS):
        return "int | float | Sequence[float] | str"
    if option.type == LAYERS:
        return "str | bool" if "off" in words else "str"
    return "str"


def whole(value, name):
    """An integer, or ValueError."""
    try:
        return operator.index(value)
    except TypeError:
        raise ValueError("%s: %r is not an integer" % (name, value)) from None


def lines_of(kind, without=()):
    """The options of a kind as lines of a docstring."""
    return "\n".join("    " + line for option in table(kind)
                     if python_name(option.name) not in without for line in describe(option))


def with_options(function, kind, without=()):
    """Puts the options of a kind in the place of `**options` in the function's signature."""
    import inspect
    parameters = inspect.signature(function).parameters
    extra = [inspect.Parameter(python_name(o.name), inspect.Parameter.KEYWORD_ONLY,
                               default=o.default)
             for o in table(kind) if python_name(o.name) not in without]
    function.__signature__ = inspect.Signature(
        [p for name, p in parameters.items() if name != "options"] + extra)


def describe(option):
    """Lines of a docstring in numpy's style."""
    words = "{%s}" % ", ".join(repr(w) for w in option.choices.split("|")) if option.choices else ""
    kind = {INT: "int", FLOAT: "float", FLAG: "bool", CHOICE: words, INTS: "list of int",
            TEXT: "str", NUMBERS: "list of numbers or " + words,
            LAYERS: "str like '2048-bn-relu-256' or " + words}[option.type]
    if option.type in (INT, FLOAT) and words:
        kind += " or " + words[1:-1]
    return ["%s : %s, default=%r" % (python_name(option.name), kind, option.default),
            "    %s" % (option.help[:1].upper() + option.help[1:] + ".")]
