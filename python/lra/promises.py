"""The promises that lra.check tries, and the report of what was kept."""
from __future__ import annotations

from dataclasses import dataclass, field

PROMISES = {
    "T1": "the fast form equals the dense oracle in float64",
    "T2": "its gradients equal the oracle's by autograd",
    "T2n": "its gradients equal central differences",
    "T3": "garbage and NaN in padded positions change nothing",
    "T4": "the amount of padding changes what the traits say",
    "T9": "an example alone equals the same in a batch",
    "T13": "no keys give zeros and zero gradients",
    "T5": "later tokens reach no earlier output, nor its gradient",
    "T10": "equal runs and equal seeds give equal bits",
    "F32": "float32 stays near the float64 oracle",
}


@dataclass(frozen=True)
class Result:
    """One comparison."""

    id: str
    measured: float  # the worst error; infinite where a NaN got through or the attention raised
    bound: float
    detail: str

    @property
    def passed(self) -> bool:
        return self.measured <= self.bound


@dataclass
class Report:
    """What `check` found: true if every promise was kept; print it to read it."""

    results: list[Result] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)  # what could not be tried, and why

    @property
    def passed(self) -> bool:
        return all(result.passed for result in self.results)

    @property
    def broken(self) -> list[str]:
        """Ids of the promises that were not kept, in the order of PROMISES."""
        return [id for id in PROMISES if any(r.id == id and not r.passed for r in self.results)]

    def __bool__(self) -> bool:
        return self.passed

    def __str__(self) -> str:
        lines = [f"        {'id':4} {'promise':60} {'tried':>5} {'worst':>9} {'bound':>9}"]
        for id, promise in PROMISES.items():
            tried = [r for r in self.results if r.id == id]
            if not tried:
                continue
            worst = max(tried, key=lambda r: r.measured / r.bound if r.bound else r.measured * 1e300)
            mark = "ok" if id not in self.broken else "BROKEN"
            lines.append(f"{mark:7} {id:4} {promise:60} {len(tried):5} {worst.measured:9.1e} {worst.bound:9.1e}")
        lines += [f"  {r.id}: {r.detail}: {r.measured:.1e}, at most {r.bound:.1e}" for r in self.results if not r.passed]
        lines += [f"  note: {note}" for note in self.notes]
        return "\n".join(lines)
