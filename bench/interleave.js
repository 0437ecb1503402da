// Interleaves the sides of a comparison in one run, because the speed of a shared machine changes by the second.
import { availableParallelism, cpus, loadavg } from 'node:os';
import { writeFileSync } from 'node:fs';
import { median } from './measure.js';

/** Runs each side once per round, with a rotating order; returns all values of each, without the warm-up. */
export async function interleave(sides, { rounds, warmUp = 2 }) {
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

/** Returns the median ratio of `own` to `peer`, of consecutive runs. */
export function ratio(own, peer, of = (value) => value) {
  return median(own.map((value, i) => of(value) / of(peer[i])));
}

/** Writes the raw values and their summary to `results/`. */
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
