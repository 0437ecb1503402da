import { beforeAll, describe, expect, test } from 'vitest';
import { CAN_MEASURE, MAX_BLOCK_MS } from './measured-server.ts';
import { longestBlockOf, startWide, wideRequests, type WideServer } from './wide-requests.ts';

/** The most that a CSV file or a line may have. */
const COLUMNS = 5000;

describe.runIf(CAN_MEASURE)(
  `with ${COLUMNS} columns, the event loop is kept for at most ${MAX_BLOCK_MS} ms in one piece by`,
  () => {
    let wide: WideServer;
    beforeAll(async () => {
      wide = await startWide((columns) => Object.values(wideRequests(columns)));
      return () => wide.close();
    }, 300_000);

    test.each(Object.entries(wideRequests(COLUMNS)))('%s', async (_, prepare) => {
      expect(await longestBlockOf(prepare, wide)).toBeLessThanOrEqual(MAX_BLOCK_MS);
    });
  },
);
