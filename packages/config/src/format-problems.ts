import { describeSource, type Finding } from './source.ts';

/** Formats problems for a terminal: each with its source, its message and its hint. */
export function formatProblems(problems: readonly Finding[]): string {
  const head =
    problems.length === 1 ? 'The configuration has a problem:' : `The configuration has ${problems.length} problems:`;
  const items = problems.map(
    ({ source, message, hint }) => `\n  ${describeSource(source)}\n    ${message}\n    ${hint}\n`,
  );
  return `${head}\n${items.join('')}`;
}
