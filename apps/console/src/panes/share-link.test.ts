import fc from 'fast-check';
import { expect, test } from 'vitest';
import { linkFragment, tabFromFragment } from './share-link.ts';
import type { Tab } from '../state/tabs.ts';

const chart = fc.record(
  {
    kind: fc.constantFrom('line' as const, 'bar' as const, 'histogram' as const, 'ohlc' as const),
    y: fc.array(fc.string(), { maxLength: 5 }),
    x: fc.string(),
    by: fc.string(),
    aggregate: fc.constantFrom('sum' as const, 'mean' as const, 'min' as const, 'max' as const),
  },
  { requiredKeys: ['kind', 'y'] },
);
const id = fc.string({ minLength: 1, maxLength: 8 });
const queryTab = fc.record(
  {
    kind: fc.constant('query' as const),
    id,
    title: fc.string({ unit: fc.constantFrom(...'aZ 0\u00e9\u{1F600}'), maxLength: 20 }),
    sql: fc.string({ unit: 'grapheme', maxLength: 2000 }),
    engine: fc.constantFrom('local' as const, 'tsdb' as const, 'scheduler' as const),
    view: fc.constantFrom('rows' as const, 'chart' as const, 'summary' as const, 'plan' as const),
    chart,
  },
  { requiredKeys: ['kind', 'id', 'title', 'sql', 'engine', 'view'] },
);
const frameTab = fc.record(
  {
    kind: fc.constant('frame' as const),
    id,
    handle: fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/),
    view: fc.constantFrom('rows' as const, 'chart' as const, 'summary' as const, 'info' as const),
    chart,
  },
  { requiredKeys: ['kind', 'id', 'handle', 'view'] },
);

test('a link has the tab it was made of', async () => {
  await fc.assert(
    fc.asyncProperty(fc.oneof(queryTab, frameTab), async (tab: Tab) => {
      const fragment = await linkFragment(tab);
      expect(fragment).toMatch(/^#1\.[\w-]+$/);
      expect(await tabFromFragment(fragment)).toEqual(tab);
    }),
    { numRuns: 50 },
  );
});

test('a link can name a frame in clear', async () => {
  expect(await tabFromFragment('#/frames/trades.2026')).toEqual({
    kind: 'frame',
    id: 'link',
    handle: 'trades.2026',
    view: 'rows',
  });
});

test.each([
  ['#2.abc', 'This link is of another version of the console.'],
  ['#10.', 'This link is of another version of the console.'],
  ['#section', 'This is not a link to a tab.'],
  ['#1.?', 'This link is damaged.'],
])('the link %j opens nothing, and says why', async (fragment, message) => {
  const hint = expect.stringMatching(/.+\.$/);
  await expect(tabFromFragment(fragment)).rejects.toMatchObject({ name: 'LinkError', message, hint });
});

test.each([
  ['no base64', '#1.?'],
  ['nothing', '#1.'],
  ['not deflated', '#1.AAAA'],
  ['a broken escape', '#/frames/%zz'],
  ['too long', `#1.${'A'.repeat(1_000_001)}`],
])('a damaged link is refused: %s', async (_, fragment) => {
  await expect(tabFromFragment(fragment)).rejects.toThrow();
});

test('a link that would fill the memory is refused', async () => {
  const packed = new Blob(['x'.repeat(4_100_000)]).stream().pipeThrough(new CompressionStream('deflate-raw'));
  const bytes = Buffer.from(await new Response(packed).arrayBuffer());
  await expect(tabFromFragment(`#1.${bytes.toString('base64url')}`)).rejects.toMatchObject({
    cause: { message: 'The link is too long.' },
  });
});

test.each([
  { kind: 'query', id: 'a', sql: 'select 1', engine: 'other' },
  { kind: 'query', id: 'a', sql: 1, engine: 'local' },
  { kind: 'frame', id: 'a', handle: 'x'.repeat(129) },
  { kind: 'frame', id: 'a', handle: '\u202Eselbat' },
  { kind: 'other', id: 'a' },
  { kind: 'frame', handle: 'trades' },
  null,
])('a link with something else than a tab is refused: %j', async (value) => {
  await expect(tabFromFragment(await linkFragment(value as unknown as Tab))).rejects.toMatchObject({
    cause: { message: 'The link has no tab.' },
  });
});

test('the title of a link has symbols for characters that are not seen', async () => {
  const fragment = await linkFragment({
    kind: 'query',
    id: 'a',
    title: '\u202Eq1',
    sql: '',
    engine: 'local',
    view: 'rows',
  });
  expect(await tabFromFragment(fragment)).toMatchObject({ title: '‹U+202E›q1' });
});
