// A bar chart as SVG, readable on a light and on a dark page.

const WIDTH = 720;
const LABELS = 190;
const BAR = 14;
const GAP = 10;
const COLOURS = ['#3b82f6', '#94a3b8'];

const escaped = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');

/** Draws rows of bars, one bar for each series. */
export function barChart(title, series, rows) {
  const most = Math.max(...rows.flatMap(({ values }) => values));
  const rowHeight = series.length * BAR + GAP;
  const height = 40 + rows.length * rowHeight + 24;
  const scale = (WIDTH - LABELS - 80) / most;
  const bars = rows.flatMap(({ label, values }, i) => {
    const y = 36 + i * rowHeight;
    return [
      `<text x="${LABELS - 8}" y="${y + (series.length * BAR) / 2 + 4}" text-anchor="end">${escaped(label)}</text>`,
      ...values.flatMap((value, k) => [
        `<rect x="${LABELS}" y="${y + k * BAR}" width="${Math.max(1, value * scale).toFixed(1)}" height="${BAR - 2}" fill="${COLOURS[k]}"/>`,
        `<text x="${(LABELS + value * scale + 6).toFixed(1)}" y="${y + k * BAR + 10}">${value.toLocaleString('en')}</text>`,
      ]),
    ];
  });
  const legend = series.map(
    (name, k) =>
      `<rect x="${LABELS + k * 150}" y="${height - 18}" width="10" height="10" fill="${COLOURS[k]}"/><text x="${LABELS + k * 150 + 16}" y="${height - 9}">${escaped(name)}</text>`,
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-label="${escaped(title)}">
<style>text { font: 12px system-ui, sans-serif; fill: #64748b }</style>
<text x="8" y="20" style="font-weight: 600">${escaped(title)}</text>
${[...bars, ...(series.length > 1 ? legend : [])].join('\n')}
</svg>
`;
}
