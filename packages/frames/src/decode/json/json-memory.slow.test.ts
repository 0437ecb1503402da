import { describe, test } from 'vitest';
import { expectRefused, SMALL_BODIES } from '../../../test/refused-bodies.ts';

describe('a small body of a huge frame is out_of_memory, and uses little memory until then', () => {
  test.each(SMALL_BODIES)('%s', (_name, body) => expectRefused(body));
});
