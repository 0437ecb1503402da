/** The colours and the font that the canvas paints with. */
export interface GridTheme {
  readonly text: string;
  readonly dim: string;
  readonly line: string;
  readonly background: string;
  readonly head: string;
  readonly selection: string;
  readonly focus: string;
  readonly font: string;
}

const INKS = ['text', 'dim', 'line', 'background', 'head', 'selection', 'focus'] as const;
type Ink = (typeof INKS)[number];

/** Reads the colours of the style sheet, and reports when they change. */
export interface ThemeProbe {
  readonly element: HTMLElement;
  read(): GridTheme;
  close(): void;
}

/** Creates hidden elements whose computed colours are those of the theme: variables alone do not resolve `light-dark()`. */
export function createThemeProbe(changed: () => void): ThemeProbe {
  const element = document.createElement('span');
  element.className = 'grid-inks';
  element.hidden = true;
  const inks = INKS.map((name) => {
    const ink = document.createElement('span');
    ink.className = `grid-ink-${name}`;
    element.append(ink);
    return ink;
  });
  const observer = new MutationObserver(changed);
  observer.observe(document.documentElement, { attributes: true });
  const queries = ['(prefers-color-scheme: dark)', '(forced-colors: active)', '(prefers-contrast: more)'].map((query) =>
    matchMedia(query),
  );
  for (const query of queries) query.addEventListener('change', changed);
  return {
    element,
    read() {
      const { fontFamily, fontSize } = getComputedStyle(element);
      const colour = (name: Ink): string => getComputedStyle(inks[INKS.indexOf(name)] ?? element).color;
      return {
        text: colour('text'),
        dim: colour('dim'),
        line: colour('line'),
        background: colour('background'),
        head: colour('head'),
        selection: colour('selection'),
        focus: colour('focus'),
        font: `${fontSize} ${fontFamily}`,
      };
    },
    close() {
      observer.disconnect();
      for (const query of queries) query.removeEventListener('change', changed);
    },
  };
}
