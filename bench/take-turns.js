// The sides of a comparison take turns in one run, because the speed of a shared machine changes by the second.
import { availableParallelism, cpus, loadavg } from 'node:os';
import { writeFileSync } from 'node:fs';
import { median } from './measure.js';

/** Runs each side once a round, the order turning round; gives every value of each, warm-up left out. */
export async function takeTurns(sides, { rounds, warmUp = 2 }) {
  const values = Object.fromEntries(Object.keys(sides).map((name) => [name, []]));
  for (let round = 0; round < rounds + warmUp; round++) {
    const names = Object.keys(sides);
    if (round % 2 === 1) names.reverse();
    for (const name of names) {
      const value = await sides[name](round);
      if (round >= warmUp) values[name].push(value);
    }
  }
  return values;
}

/** The median of how much of `peer` each run of `own` was, taken of runs that follow each other. */
export function ratio(own, peer, of = (value) => value) {
  return median(own.map((value, i) => of(value) / of(peer[i])));
}

/** Writes raw values and what they come to under `results/`. */
export function writeResults(name, results) {
  const machine = {
    node: process.version,
    cpu: cpus()[0]?.model,
    cores: availableParallelism(),
    loadAtTheEnd: Number(loadavg()[0].toFixed(2)),
  };
  const text = `${JSON.stringify({ machine, ...results }, null, 2)}\n`;
  writeFileSync(new URL(`results/${name}.json`, import.meta.url), text);
}
