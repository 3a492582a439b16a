"""One audit whose runs are made on a device: the search goes on there, and so does the confirmation.

The usual search, on few samples in this process, leaves pairs of inputs, parameters and events. On the device
they are weighed on a thousand times as many runs, with whole outputs that are rarer than those samples could
show; the best are moved about (parameters, answers, the ends of intervals) as long as that helps. What comes
out is a lead like any other. The verdict takes fresh runs, by the same test (`freegap.auditor.statistics`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from freegap.auditor.confirm import Confirmation, Test, confirm_there
from freegap.auditor.device_moves import Known, lengths_from, moved_events, reshaped, uncut, with_numbers_cut
from freegap.auditor.device_pace import RUN_OFF_PART, SEARCH_PART, PacedStages, pace_of
from freegap.auditor.device_runs import countable
from freegap.auditor.device_weighed import (
    CAUTION,
    MOST_EVENTS,
    Runner,
    Weighed,
    best_of,
    best_of_each,
    interleaved,
)
from freegap.auditor.inputs import SearchCandidate
from freegap.auditor.rare import plain_candidates, rare_events
from freegap.auditor.report import AuditReport
from freegap.auditor.sampling import Progress
from freegap.auditor.search import Lead, mutated
from freegap.auditor.stages import BOUND_SHARE
from freegap.auditor.statistics import Spending
from freegap.errors import MechanismFailed

PACE_KEY = 7
RUN_OFF, RUN_OFF_EVENTS = 7, 4  # how many, by how many events
CHECKED = 3  # candidates by which is seen whether inputs may be farther apart
POOL, KEPT = 10, 3
WEIGHED_RUNS = 200  # how many candidates are weighed in half of the time of the search, about
RARE_PART = 0.3
END, PACE_PART = 0.95, 0.02  # the time is over by then; what of it goes into seeing how fast a count is
MOST_LOOKED_AT, SURVIVORS, FIRST_PART = (
    300,
    (60, 20, 6),
    0.35,
)  # of the first looks; what of that time they have
DOUBTS = (0.0, 0.5, 1.0)  # of these looks: on few runs, who doubts much takes what is frequent for good
LEAST_FAR, MOST_FAR = 0.8, 2.0  # what inputs farther apart lose, of what neighbours do, for each step
PLAINLY = 0.9
MOVES = (4.0, 2.0, 1.0, 0.5)  # in scales of the noise: much is lost only far from where one begins
SEARCHED = "On a device, neither low digits nor learned scores are looked at."


@dataclass
class DeviceStages(PacedStages):
    """The stages of an audit on a device."""

    deep: bool = False
    lengths: tuple[int, ...] = ()
    """How many answers inputs may be given: as many as those of the patterns have, and some more."""
    times: int = 1
    """How many times as far apart as neighbours the inputs are that are weighed in the search."""
    phases: tuple[float, float] = (0.0, 0.0)
    """Seconds of the search in this process, and of that on the device."""

    def search(self, progress: Progress) -> None:
        """The usual search, and then on the device."""
        if self.seconds is not None:  # how many runs there will be, for the forecasts
            usual = [candidate for candidate in self.proposals.candidates() if not candidate.pair.far]
            longest = max(usual, key=lambda candidate: len(candidate.pair.first))
            self.lengths = lengths_from(len(longest.pair.first), self.proposals.pairs)
            self._try_out(longest)
            self.plan = self._plan_of(longest)  # for the search in this process
        super().search(progress)
        self.notes.append(SEARCHED)
        here = time.monotonic()
        leads = self.refine(progress)
        if self.deep:
            leads += self.search_rare(progress)
        self.state.leads = sorted(leads, key=lambda lead: -lead.merit) or self.state.leads
        self.phases = (here - self.started, time.monotonic() - here)

    def search_rare(self, progress: Progress) -> list[Lead]:
        """Leads to what happens hardly ever, on a few plain pairs."""
        leads = []
        candidates = plain_candidates(self.proposals.candidates())
        for number, candidate in enumerate(candidates):
            runs = self.plan.samples
            if self.seconds is not None:
                runs = self._affordable(RARE_PART, candidate) // (3 * len(candidates))
            forecast = self._forecast(candidate, runs)
            found = rare_events(self.there, candidate, runs, forecast, number)
            known = [(f.event, f.swapped) for f in found if countable(f.event)][: MOST_EVENTS // 2]
            # whole outputs are counted while these are weighed, and proposed by that
            proposed = [(f.event, f.swapped) for f in self.weigh(candidate, known, runs).proposed]
            weighed = self.weigh(candidate, [*known, *proposed[: MOST_EVENTS // 2]], runs)
            leads += [Lead(candidate, finding) for finding in weighed.findings[:1]]
            self.workers.runs += 2 * runs
            progress.update("search for what is rare", number, len(candidates), weighed.merit)
        return leads

    def search_deeper(self, progress: Progress) -> None:
        """Nothing more: what is rare was looked for before."""

    def record(self, seconds: float, interrupted: bool) -> AuditReport:
        """What the audit came to, with what its time went into."""
        here, there = self.phases
        self.notes.append(
            f"The runs were made by {self.there.device.name}: {here:.1f} s of search in this process, "
            f"{there:.1f} s of search there, {seconds - here - there:.1f} s of confirmation."
        )
        return super().record(seconds, interrupted)

    # Search ------------------------------------------------------------------------------------------

    def refine(self, progress: Progress) -> list[Lead]:
        """The leads of the search, weighed and moved about on the device; best first."""
        looks = self._first_looks(progress)
        begin = [(weighed.candidate, weighed.known) for weighed in looks] or self._pool()
        self.times = self._times(begin[:CHECKED])
        latest = self._climb(looks if self.times == 1 else [], begin, progress)
        best = [(weighed.candidate, weighed.known) for weighed in best_of(latest, RUN_OFF)]
        last = self._run_off(best, self.times, progress)
        last = self._as_neighbours(last, begin[:CHECKED]) if self.times > 1 else last
        return [Lead(weighed.candidate, finding) for weighed in last for finding in weighed.findings[:1]]

    def _times(self, best: Sequence[tuple[SearchCandidate, list[Known]]]) -> int:
        """How far apart pairs are weighed. For a small ε counts hardly differ between neighbours, and chance
        decides which candidate looks best; inputs seven times as far apart lose about seven times as much.
        Neighbours they are not: so that is done if the best of the first looks bear it out, the last word is
        that of neighbours (`_as_neighbours`), and pairs that were given stay as they are."""
        times = self.plan.stretch
        if times == 1 or any(candidate.pair.given for candidate, _ in best):
            return 1
        for candidate, known in best:
            pair = candidate.pair.stretched(times)
            cut = with_numbers_cut(uncut(known[:1]), pair, self.proposals.scale)
            runs = self._size(candidate)
            try:
                near = self._looked_at(candidate, known, runs, 0.0).merit
                far = self._looked_at(candidate, [*known, *cut], runs, 0.0, times).merit
            except MechanismFailed:  # on inputs that nobody asked for
                return 1
            if not LEAST_FAR * near < far < MOST_FAR * near:
                return 1
        return times

    def _climb(
        self,
        looks: Sequence[Weighed],
        begin: Sequence[tuple[SearchCandidate, list[Known]]],
        progress: Progress,
    ) -> dict[SearchCandidate, Weighed]:
        """What was seen last of each candidate, while the best are moved about: on from whatever is ahead.

        looks: what is known of those to begin with; where nothing is, they are weighed first.
        """
        latest = {weighed.candidate: weighed for weighed in looks}
        seen: set[tuple[SearchCandidate, frozenset[Known]]] = set()
        waiting = [] if latest else list(begin)
        number = 0
        while True:
            fresh = [(c, known) for c, known in waiting if (c, frozenset(known)) not in seen]
            leader = best_of(latest, 1)
            for done, (candidate, known) in enumerate(fresh):
                seen.add((candidate, frozenset(known)))
                try:  # what was seen last was seen on the most runs, and not picked for its luck
                    latest[candidate] = self._looked_at(candidate, known, self._size(candidate))
                except MechanismFailed:
                    if number == 0 and self.times == 1:
                        raise
                    continue  # on inputs that nobody asked for
                ahead = best_of(latest, 1)
                progress.update("search on the device", done, len(fresh), ahead[0].merit)
                if self._over(self._search_part):
                    break
                if self.seconds is not None and leader and ahead[0].candidate != leader[0].candidate:
                    number -= 1  # on from there, in steps as large as this one
                    break
            idle = not fresh and number > len(MOVES)
            if idle or self._over(self._search_part) or (self.seconds is None and number == len(MOVES)):
                return latest
            step = MOVES[number % len(MOVES)]
            waiting = list(
                interleaved([self._moved(weighed, step) for weighed in best_of_each(latest, KEPT)])
            )
            number += 1

    def _run_off(
        self, best: Iterable[tuple[SearchCandidate, list[Known]]], times: int, progress: Progress
    ) -> list[Weighed]:
        """The best ones by all that several looks at their best events show, the worse half left out after
        each: by one look alone, which of the best comes first is mostly luck."""
        runners = [Runner(candidate, known[:RUN_OFF_EVENTS]) for candidate, known in best]
        last: list[Weighed] = []
        while runners:
            for done, runner in enumerate(runners):
                candidate = runner.candidate
                runs = self._run_off_size(candidate, RUN_OFF.bit_length() * len(runners))
                seen = self.weigh(candidate, runner.known, runs, times=times)
                runner.see(seen, runs)
                progress.update("run-off on the device", done, len(runners), seen.merit)
            judged = [
                (runner, runner.weighed(self._forecast(runner.candidate, runner.runs, CAUTION, times)))
                for runner in runners
            ]
            judged.sort(key=lambda pair: -pair[1].merit)
            runners, last = [runner for runner, _ in judged], [weighed for _, weighed in judged]
            runners = runners[: len(runners) // 2] if self.seconds is not None else []
        return last

    def _run_off_size(self, candidate: SearchCandidate, parts: int) -> int:
        """Runs of each side for one of so many parts of the run-off."""
        if self.seconds is None:
            return 2 * self._size(candidate)
        return max(self.least, self._affordable(RUN_OFF_PART / parts, candidate))

    def _as_neighbours(
        self, last: Sequence[Weighed], before: Sequence[tuple[SearchCandidate, list[Known]]]
    ) -> list[Weighed]:
        """What was best far apart, seen on neighbours; or what was best before, if that is plainly better
        there."""
        found: list[Weighed] = []
        for candidate, known in [*((weighed.candidate, weighed.known) for weighed in last[:1]), *before]:
            near = with_numbers_cut(uncut(known[:1]), candidate.pair, self.proposals.scale)
            found.append(self.weigh(candidate, [*known[:1], *near], self._run_off_size(candidate, 4)))
        return [max(found, key=lambda weighed: weighed.merit * (1 if weighed is found[0] else PLAINLY))]

    def _first_looks(self, progress: Progress) -> list[Weighed]:
        """All candidates on fewer runs, then the better ones on more; the best of them."""
        if self.seconds is None:
            return []
        known = dict(self._pool())
        begun = self._elapsed
        share = max(0.0, self._search_part - begun) * FIRST_PART / len(SURVIVORS)
        proposed = [c for c in replace(self.proposals, most=MOST_LOOKED_AT).candidates() if c not in known]
        # A candidate without events is weighed twice. Where there is no time for all, a few of every kind.
        room = max(1, int(share * self.seconds / max(2 * self.shortest, 1e-9)) - len(known))
        runners = [(c, known.get(c, [])) for c in [*known, *proposed[:: -(-len(proposed) // room) or 1]]]
        best: list[Weighed] = []
        for look, kept in enumerate(SURVIVORS):
            found: list[Weighed] = []
            for done, (candidate, events) in enumerate(runners):
                runs = self._affordable(share, candidate) // len(runners)
                try:
                    found.append(self._looked_at(candidate, events, max(self.least, runs), DOUBTS[look]))
                except MechanismFailed:
                    continue  # the search before this has said what it turned down
                progress.update(f"look {look + 1} on the device", done, len(runners), found[-1].merit)
                if self._over(begun + (look + 1) * share):  # a mechanism with many ways through it
                    break
            # What there was no time to look at again stays.
            seen = {weighed.candidate for weighed in found}
            found += [weighed for weighed in best if weighed.candidate not in seen]
            best = sorted(found, key=lambda weighed: -weighed.merit)[:kept]
            runners = [(weighed.candidate, weighed.known) for weighed in best]
        return best

    @property
    def _search_part(self) -> float:
        """What of the time the search has, before that for what is rare."""
        return SEARCH_PART / 2 if self.deep else SEARCH_PART

    def _size(self, candidate: SearchCandidate) -> int:
        """Runs of each side on which a candidate is weighed: about as many as the time allows, and the more,
        the less there is to find out about it."""
        if self.seconds is None:
            return self.plan.samples
        left = max(0.1, 1 - self._elapsed / self._search_part)
        many = WEIGHED_RUNS * self.times  # far apart, fewer runs tell as much
        return max(self.least, int(self._affordable(self._search_part / 2, candidate) / (many * left)))

    def _pool(self) -> list[tuple[SearchCandidate, list[Known]]]:
        """The best candidates of the search, with their events."""
        found: dict[SearchCandidate, list[Known]] = {}
        for lead in self.state.leads:
            if countable(lead.finding.event):
                found.setdefault(lead.candidate, []).append((lead.finding.event, lead.finding.swapped))
        for candidate in self.state.finalists:
            found.setdefault(candidate, [])
        return [(candidate, known[:MOST_EVENTS]) for candidate, known in list(found.items())[:POOL]]

    def _moved(self, weighed: Weighed, step: float) -> Iterator[tuple[SearchCandidate, list[Known]]]:
        """The same candidate with its events moved, and then moved itself, by so many scales of the noise."""
        known, candidate = weighed.known, weighed.candidate
        scale = self.proposals.scale * step
        near = [*moved_events(known, scale / MOVES[0]), *self._cut(known, candidate)]
        yield candidate, [*known, *near]
        # Shapes first: set apart for a few answers, a pair is where more of them would not help any longer.
        for pair in reshaped(candidate.pair, self.lengths):
            yield replace(candidate, pair=pair), []
        for moved in mutated(candidate, self.source.mechanism.found, scale):
            yield moved, known[:4]

    def _looked_at(
        self,
        candidate: SearchCandidate,
        known: Sequence[Known],
        runs: int,
        caution: float = CAUTION,
        times: int | None = None,
    ) -> Weighed:
        """Weighed, if events are known; else half of the runs propose some, and half weigh them."""
        apart = times or self.times
        if known:
            return self.weigh(candidate, known, runs, caution, apart)
        proposed = self.weigh(candidate, [], runs // 2, times=apart).known
        cut = self._cut(proposed, candidate)
        return self.weigh(candidate, [*proposed, *cut], runs // 2, caution, apart)

    def _cut(self, known: Sequence[Known], candidate: SearchCandidate) -> list[Known]:
        pair = candidate.pair if self.times == 1 else candidate.pair.stretched(self.times)
        return with_numbers_cut(known, pair, self.proposals.scale)

    # Confirmation ------------------------------------------------------------------------------------

    def confirm(self, progress: Progress) -> None:
        """Confirm the best lead, on as many runs as there are or as the time allows."""
        if not self.state.leads:
            return
        lead = self.state.leads[0]
        if self.seconds is not None:
            self.plan = replace(self.plan, confirm=self._fitting(lead))
        self._confirm(self._begin(lead), self.plan, BOUND_SHARE, 0, progress, "confirm on the device")

    def _fitting(self, lead: Lead) -> int:
        """How many runs of each side confirm a lead in the time that is left.

        What is timed is what a confirmation does, on runs of their own: weighing does far more with each
        run. So the number is fixed before the first run that counts, and no count has a say in it.
        """
        assert self.seconds is not None  # noqa: S101 (for the type checker)
        if countable(lead.finding.event):
            batch = self.there.batch(lead.first)
            pace = pace_of(lambda number: self._timed(lead, batch, number), batch, PACE_PART * self.seconds)
            self.paces[len(lead.first)] = pace
        return self._affordable(max(0.05, END - self._elapsed), lead.candidate)

    def _timed(self, lead: Lead, batch: int, number: int) -> None:
        """A batch for each input, as in a confirmation."""
        for side, answers in enumerate((lead.first, lead.second)):
            key = (PACE_KEY, number, side)
            self.there.count(answers, lead.candidate.parameters, [lead.finding.event], batch, key)
        self.workers.runs += 2 * batch

    def _run_confirmation(
        self,
        result: Confirmation,
        spending: Spending,
        *,
        number: int,
        settled: Callable[[Confirmation], bool],
        promising: Callable[[Confirmation], bool],
        report: Callable[[int, int], None],
    ) -> None:
        if not countable(result.lead.finding.event):
            super()._run_confirmation(
                result, spending, number=number, settled=settled, promising=promising, report=report
            )
            return
        confirm_there(
            self.there,
            result,
            replace(spending, least=min(2 * self.there.batch(result.lead.first), spending.usual)),
            Test(self.claim, self.alpha),
            number=number,
            settled=settled,
            promising=promising,
            report=report,
        )
        self.workers.runs += result.counts.trials
