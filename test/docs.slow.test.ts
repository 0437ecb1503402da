// Runs the rest of the documentation; docs/README.md says by which rules.
import { describe } from 'vitest';
import { stepsOf, testSession } from './page-session.ts';
import { FIRST_PAGES, pages, read } from './pages.ts';

const others = pages.filter((page) => !FIRST_PAGES.includes(page) && stepsOf(read(page)).length > 0);

describe.each(others)('%s', (page) => {
  testSession(page);
});
