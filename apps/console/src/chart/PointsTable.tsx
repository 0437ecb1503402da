import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { countOf } from '../state/format.ts';
import { type ChartData, pointsInView } from './chart-data.ts';
import { placeText } from './place-text.ts';

const PAGE = 200;

/** The points of a chart as a table with exact values, for all who do not see the picture. */
export function PointsTable({ data }: { readonly data: ChartData }): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  const [shown, setShown] = useState(PAGE);
  const { places, labels, xAxis, series } = data;
  const inView = pointsInView(data);
  const textOf = (at: number): string => {
    const place = places[at];
    return labels?.[at] ?? (xAxis && place !== undefined ? placeText(xAxis, place) : '');
  };
  return (
    <details class="points" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Table of {countOf(inView.length, 'point')}</summary>
      {isOpen && (
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- the keyboard scrolls what has the focus
        <section class="points-scroll" aria-label="Points" tabIndex={0}>
          <table>
            <thead>
              <tr>
                <th scope="col">{data.xName}</th>
                {series.map(({ label }) => (
                  <th scope="col" key={label}>
                    {label}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {inView.slice(0, shown).map((at) => (
                <tr key={at}>
                  <th scope="row">{textOf(at)}</th>
                  {series.map(({ label, texts }) => (
                    <td key={label}>{texts[at] === null ? <i>null</i> : texts[at]}</td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
          {shown < inView.length && (
            <button type="button" onClick={() => setShown(shown + PAGE)}>
              Show {Math.min(PAGE, inView.length - shown)} more
            </button>
          )}
        </section>
      )}
    </details>
  );
}
