"""Specs: settings as records that check themselves.

A setting is named, typed, bounded and described here (or in the ``Spec`` of an experiment, or in
the ``Options`` of a kind of data set) and nowhere else: the JSON schema, the params of the rules,
the settings page of the documentation and the configurations that ``scoup new`` writes are made
from these classes. A wrong value is answered in one sentence that names the key.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import numpy as np
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    Strict,
    TypeAdapter,
    ValidationError,
    WithJsonSchema,
    model_validator,
)

from scoup.errors import ScoupError
from scoup.listing import members, near

JsonSchema = Mapping[str, Any]


class Spec(BaseModel):
    """Base of all settings: unknown keys are refused, values never change, errors are sentences.

    >>> FitSpec(rank=0)
    Traceback (most recent call last):
    ...
    scoup.errors.ScoupError: rank: expected an integer of at least 1, got 0.
    >>> FitSpec(rank=2, max_itr=9)
    Traceback (most recent call last):
    ...
    scoup.errors.ScoupError: max_itr: expected one of the keys rank, ...; perhaps 'max_iter' ...
    """

    # Validators are built when first used: a job uses one or two of these classes.
    model_config = ConfigDict(
        extra="forbid", frozen=True, protected_namespaces=(), defer_build=True
    )

    def __init__(self, **settings: Any) -> None:
        try:
            super().__init__(**settings)
        except ValidationError as error:
            raise explain(error, type(self)) from None

    @model_validator(mode="before")
    @classmethod
    def _without_numpy(cls, settings: Any) -> Any:
        """Accept numpy's numbers and arrays where Python's are expected."""
        return _plain(settings)

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as plain values, as a configuration or a rule's params hold them."""
        return self.model_dump(mode="json")

    def replace(self, **changes: Any) -> Any:
        """Return the same settings with some of them changed, checked again.

        >>> FitSpec(rank=2).replace(rank=3).rank
        3
        """
        return type(self)(**{**dict(self), **changes})

    def part(self, kind: type[Spec]) -> Any:
        """Return those settings that ``kind``, a base of this class, has.

        >>> PlanSpec(rank=2, tol=0.1).part(FitSpec).tol
        0.1
        """
        return kind(**{name: getattr(self, name) for name in kind.model_fields})


def explain(error: ValidationError, kind: type[BaseModel]) -> ScoupError:
    """Turn a validator's finding into one sentence: the key, what was expected, what came."""
    whole = kind.model_json_schema()
    findings = [(finding, *_walk(whole, finding["loc"])) for finding in error.errors()]
    # Of the branches of a union, the one that fails deepest is the one that was meant.
    same = [found for found in findings if found[1][:1] == findings[0][1][:1]]
    finding, path, schema = max(same, key=lambda found: len(found[1]))
    key = ".".join(map(str, path)) or "settings"
    if finding["type"] == "extra_forbidden":
        known = list(_walk(whole, path[:-1])[1].get("properties", {}))
        expected = f"one of the keys {', '.join(known)}" if known else "no settings"
        return ScoupError.expected(key, expected, repr(path[-1]), near(path[-1], known))
    if finding["type"] == "missing":
        return ScoupError.expected(key, "a value", "nothing", f"write '{path[-1]}:'")
    if finding["type"] == "value_error":
        return ScoupError(
            f"{key}: {finding['ctx']['error']}" if path else str(finding["ctx"]["error"])
        )
    got, choices = finding["input"], [str(choice) for choice in schema.get("enum", [])]
    return ScoupError.expected(key, in_words(schema), repr(got), near(got, choices))


def check(name: str, value: Any, kind: Any) -> Any:
    """Return ``value`` as ``kind``, such as :data:`Count`, or refuse it by ``name``.

    >>> check("ridge", np.float32(0.5), Positive)
    0.5
    >>> check("jobs", 0, Count)
    Traceback (most recent call last):
    ...
    scoup.errors.ScoupError: jobs: expected an integer of at least 1, got 0.
    """
    adapter = TypeAdapter(kind)
    try:
        return adapter.validate_python(_plain(value))
    except ValidationError:
        choices = [str(choice) for choice in adapter.json_schema().get("enum", [])]
        raise ScoupError.expected(
            name, in_words(adapter.json_schema()), repr(value), near(value, choices)
        ) from None


def in_words(schema: JsonSchema) -> str:
    """Say what a JSON schema asks for.

    >>> in_words({"type": "integer", "minimum": 1}), in_words({"enum": ["joint", "paper"]})
    ('an integer of at least 1', 'one of joint, paper')
    """
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(in_words(branch) for branch in schema["anyOf"]))
    if "enum" in schema or "const" in schema:
        choices = schema.get("enum") or [schema["const"]]
        words = [
            str(choice).lower() if isinstance(choice, bool) else str(choice) for choice in choices
        ]
        return f"one of {', '.join(words)}" if len(words) > 1 else words[0]
    noun = _NOUNS.get(str(schema.get("type")), "a value")
    if schema.get("type") == "array":
        least = schema.get("minItems", 0)
        items = schema.get("items", {})
        return (
            f"a list of {f'{least} or more: ' if least > 1 else ''}{in_words(items)}"
            if items
            else "a list"
        )
    low, high = schema.get("minimum"), schema.get("maximum")
    if low is not None and high is not None:
        return f"{noun} from {low:g} to {high:g}"
    return noun + (
        f" of at least {low:g}"
        if low is not None
        else f" of at most {high:g}"
        if high is not None
        else ""
    )


MAX_DEPTH = 50  # of settings within settings
_NOUNS = {
    "object": "a mapping", "array": "a list", "string": "a word", "integer": "an integer",
    "number": "a number", "boolean": "true or false", "null": "null",
}  # fmt: skip


def _plain(value: Any, depth: int = 0) -> Any:
    """Return settings without numpy's types; a YAML file can nest without end, by references."""
    if depth > MAX_DEPTH:
        raise ScoupError.expected("settings", f"at most {MAX_DEPTH} levels", "more")
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, Mapping):
        return {
            key.item() if isinstance(key, np.generic) else key: _plain(item, depth + 1)
            for key, item in value.items()
        }
    nested = isinstance(value, (list, tuple))
    return [_plain(item, depth + 1) for item in value] if nested else value


def _walk(schema: JsonSchema, location: Sequence[Any]) -> tuple[list[Any], JsonSchema]:
    """Follow a location as far as it names keys; return these and the schema found there."""
    path: list[Any] = []
    here = schema
    for step in location:
        inner = _step(schema, here, step)
        if inner is None and not path:
            inner = {}  # a key that the schema does not know
        if inner is not None:  # else the validator's name for a branch of a union
            path.append(step)
            here = inner
    return path, here


def _step(root: JsonSchema, schema: JsonSchema, step: Any) -> JsonSchema | None:
    """Return the schema of a key or position; that of the branch of a union that has it."""
    found: Any = None
    for branch in (_resolved(root, branch) for branch in schema.get("anyOf", [schema])):
        if step in branch.get("properties", {}):
            found = branch["properties"][step]
        elif isinstance(step, int) and "items" in branch:
            found = branch["items"]
        elif isinstance(branch.get("additionalProperties"), Mapping) and "anyOf" not in schema:
            found = branch["additionalProperties"]
    return None if found is None else _resolved(root, found)


def _resolved(root: JsonSchema, schema: JsonSchema) -> JsonSchema:
    return root["$defs"][schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema


def choice_of(package: str, description: str, **options: Any) -> Any:
    """Return a type for the names of the members of ``package``, found by listing."""

    def check(name: str) -> str:
        if name not in members(package):
            raise ValueError(
                f"expected one of {', '.join(members(package))}, got {name!r}"
                + (f"; {hint}" if (hint := near(name, members(package))) else "")
                + "."
            )
        return name

    schema = {"enum": list(members(package)), "description": description}
    return Annotated[
        str,
        AfterValidator(check),
        WithJsonSchema(schema),
        Field(description=description, **options),
    ]


Count = Annotated[int, Strict(), Field(ge=1)]
Whole = Annotated[int, Strict(), Field(ge=0)]
Positive = Annotated[float, Strict(), Field(ge=0, allow_inf_nan=False)]
AboveZero = Annotated[float, Strict(), Field(ge=1e-6, allow_inf_nan=False)]
Share = Annotated[float, Strict(), Field(ge=0, le=1, allow_inf_nan=False)]
Factor = Annotated[float, Strict(), Field(ge=1, allow_inf_nan=False)]
Factors = Factor | Annotated[list[Factor], Field(min_length=3)]
# By mode or name of a matrix; in YAML and JSON all keys are words.
FactorName = Annotated[str, BeforeValidator(str)]
Constraints = Annotated[
    Literal["nonnegative"] | dict[FactorName, Literal["nonnegative"]] | None,
    Field(
        description="nonnegative (all factors), or {factor: nonnegative} with modes by number and "
        "the columns of a matrix by its name, such as matrix0; null: none"
    ),
]
if TYPE_CHECKING:  # names that are found by listing are words to a type checker
    SolverName: TypeAlias = str
    MergeName: TypeAlias = str
    FinishName: TypeAlias = str
    ValuesName: TypeAlias = str
else:
    SolverName = choice_of("scoup.solvers", "how one fit is computed")
    MergeName = choice_of("scoup.merges", "how the repetitions of a plan become one model")
    FinishName = choice_of("scoup.finishes", "what follows the merge")
    ValuesName = choice_of("scoup.values", "what is made of the data before it is sampled")


class FitSpec(Spec):
    """How one coupled factorization is fitted."""

    rank: Count = Field(description="number of components F")
    solver: SolverName = "als"
    init: Literal["parafac", "random", "tucker"] = Field(
        "parafac",
        description="start: PARAFAC of the tensor alone, random, or tucker: PARAFAC in the leading "
        "directions of each mode, which is faster for large dense data",
    )
    max_iter: Count = Field(200, description="most sweeps of a fit")
    tol: Positive = Field(
        1e-7, description="stop when the cost changes by less than this share of itself"
    )
    starts: Count = Field(1, le=10_000, description="starts, of which the best is returned")
    compress: Literal["auto", True, False] = Field(
        "auto", description="shorten a long dense mode without loss"
    )
    constraints: Constraints = None


class SampleSpec(Spec):
    """How the indices of each repetition are drawn."""

    rank: Count = Field(description="number of components F")
    sampling: Factors = Field(
        2.0, description="sampling factor s, or one per mode; 1 keeps every index"
    )
    side_sampling: dict[int, Factor | list[Factor]] | None = Field(
        None,
        description="the same for the columns of matrices, by mode; null: the factor of the mode",
    )
    cells: Count | None = Field(
        None,
        description="largest number of the tensor's cells in the sample of the first repetition: "
        "sampling factors above 1 grow until it fits; null: no limit",
    )
    shared: Share = Field(0.35, description="fraction p of each sample that all repetitions share")
    repetitions: Count = Field(4, description="number of samples r, one job each")


class MergeSpec(Spec):
    """How the repetitions become one model."""

    merge: MergeName = "joint"
    finish: FinishName = "none"
    rise: Positive = Field(
        0.01, description="finish prune: largest rise of the cost, as a share of the completed one"
    )
    constraints: Constraints = None


class PlanSpec(MergeSpec, SampleSpec, FitSpec):
    """A plan: what is factorized, and how it is sampled, fitted and merged."""

    values: ValuesName = "unchanged"
    weights: (
        Literal["paper", "balanced"] | list[Positive] | dict[Literal["balanced"], list[Positive]]
    ) = Field(
        "paper",
        description="weights of the blocks, tensor first: paper (all 1), balanced (1 / squared "
        "norm), numbers, or {balanced: numbers}, relative to balanced",
    )


class VariantSpec(Spec):
    """A variant: which cells of the tensor are hidden from training."""

    fraction: Annotated[float, Strict(), Field(ge=0, le=0.99)] = Field(
        description="share of the cells that is hidden"
    )


class ExperimentSpec(Spec):
    """What every experiment is told; each adds its own settings."""

    datasets: list[str] = Field(min_length=1, description="data sets that it runs on")
    seeds: Count = Field(1, description="independent runs, each with its own samples and starts")
