/** The colours of a chart, as a canvas takes them. */
export interface ChartColours {
  readonly text: string;
  readonly line: string;
  readonly background: string;
  readonly series: readonly string[];
  readonly rise: string;
  readonly fall: string;
}

const SERIES = [1, 2, 3, 4, 5, 6].map((number) => `--series-${number}`);

/** Reads the colours that the variables of the page have now. */
export function themeColours(host: HTMLElement): ChartColours {
  // A variable's own value may be light-dark(…); a property's computed value is a colour.
  const probe = document.createElement('span');
  host.append(probe);
  const colourOf = (name: string): string => {
    probe.style.color = `var(${name})`;
    return getComputedStyle(probe).color;
  };
  const colours = {
    text: colourOf('--text-dim'),
    line: colourOf('--line'),
    background: colourOf('--bg'),
    series: SERIES.map(colourOf),
    rise: colourOf('--rise'),
    fall: colourOf('--fall'),
  };
  probe.remove();
  return colours;
}
