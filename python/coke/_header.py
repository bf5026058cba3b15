"""ctypes from coke.h and coke/types.h, which the package brings along: the header is the only
list of functions, structs and constants.

Reads the plain C of these two files: enums, structs of scalars, pointers, arrays and functions,
and declarations that begin with COKE_API or COKE_CHECKED (a status that must be checked)."""
import ctypes
import os
import re

SCALARS = {"int": ctypes.c_int, "int32_t": ctypes.c_int32, "int64_t": ctypes.c_int64,
           "uint64_t": ctypes.c_uint64, "size_t": ctypes.c_size_t, "double": ctypes.c_double,
           "float": ctypes.c_float, "char": ctypes.c_char, "void": None}
NAME = re.compile(r"(\w+)\s*((?:\[\w+\])*)$")


class Sized(ctypes.Structure):
    """A struct that begins with its size, which is set."""

    def __init__(self, **fields):
        super().__init__(size=ctypes.sizeof(self), **fields)


def find(name):
    """In the package, or in the source tree."""
    here = os.path.dirname(os.path.abspath(__file__))
    for folder in ("include", os.path.join("..", "..", "include")):
        path = os.path.join(here, folder, name)
        if os.path.exists(path):
            return path
    raise ImportError("%s is missing from the package" % name)


def read(name):
    with open(find(name), encoding="utf-8") as f:
        return re.sub(r"/\*.*?\*/", " ", f.read(), flags=re.S)


class Header:
    """struct: ctypes classes by name; constant: numbers of #define and enum; function: result
    type, argument types and whether the result is a status, by name."""

    def __init__(self):
        self.struct, self.constant, self.function = {}, {}, {}
        types, functions = read("coke/types.h"), read("coke.h")
        for name, value in re.findall(r"^#define (COKE_\w+) (\d+)$", types, re.M):
            self.constant[name] = int(value)
        for body in re.findall(r"^enum \w+ \{(.*?)\};", types, re.S | re.M):
            self.add_enum(body)
        for name, body in re.findall(r"^struct (\w+) \{(.*?)\n\};", types, re.S | re.M):
            self.add_struct(name, body)
        pattern = r"^COKE_(API|CHECKED)\s+([^;{}()]*?)\bcoke_(\w+)\(([^;{}]*)\);"
        for kind, result, name, arguments in re.findall(pattern, functions, re.S | re.M):
            self.function[name] = (self.type_of(result), self.types_of(arguments),
                                   kind == "CHECKED")

    def add_enum(self, body):
        value = -1
        for item in filter(None, (part.strip() for part in body.split(","))):
            name, _, given = (word.strip() for word in item.partition("="))
            value = int(given, 0) if given else value + 1
            self.constant[name] = value

    def type_of(self, text):
        """The type before a name: pointers are addresses, but text is bytes."""
        text = " ".join(text.replace("*", " * ").split())
        if "*" in text:
            return ctypes.c_char_p if text == "const char *" else ctypes.c_void_p
        words = [word for word in text.split() if word != "const"]
        if words[0] == "enum":
            return ctypes.c_int
        if words[0] == "struct":
            return self.struct[words[1]]
        return SCALARS[words[0]]

    def types_of(self, arguments):
        parts = [part.strip() for part in arguments.split(",")]
        if parts == ["void"]:
            return []
        # an array argument is a pointer, too
        return [self.type_of(NAME.sub("*" if "[" in part else "", part)) for part in parts]

    def add_struct(self, name, body):
        fields = []
        for line in filter(None, (part.strip() for part in body.split(";"))):
            call = re.match(r"(.*?)\(\*(\w+)\)\((.*)\)$", line, re.S)
            if call:
                kind = ctypes.CFUNCTYPE(self.type_of(call[1]), *self.types_of(call[3]))
                fields.append((call[2], kind))
                continue
            first, *others = line.split(",")
            base = re.match(r"(?:const )?(?:struct |enum )?\w+", first)[0]
            rest = first[len(base):]
            for declarator in [rest] + others:
                fields.append(self.field(base, declarator))
        bases = (Sized,) if fields[0][0] == "size" else (ctypes.Structure,)
        self.struct[name] = type(name, bases, {"_fields_": fields})

    def field(self, base, declarator):
        found = NAME.search(declarator.strip())
        kind = self.type_of(base + declarator.strip()[:found.start()])
        for length in re.findall(r"\w+", found[2]):
            kind = kind * int(self.constant.get(length, length))
        return found[1], kind
