// What goals of benchmarks are made of.

/** Returns the row of a summary that has some values. */
export const row = (summary, fits) =>
  summary.find((entry) => Object.entries(fits).every(([key, value]) => entry[key] === value));

export const atLeast = (goal) => ({ goal: `≥ ${goal}`, isMet: (value) => value >= goal });
export const atMost = (goal) => ({ goal: `≤ ${goal}`, isMet: (value) => value <= goal });
