import type { JSX } from 'preact';

/** Paths in a box of 16 by 16, drawn with a line of 1.5. */
const PATHS = {
  check: 'M3 8.5 6.5 12 13 4.5',
  chevron: 'M6 3.5 10.5 8 6 12.5',
  clock: 'M8 1.75a6.25 6.25 0 1 0 0 12.5 6.25 6.25 0 0 0 0-12.5ZM8 4.5V8l2.5 1.75',
  close: 'M4 4l8 8M12 4l-8 8',
  code: 'M5.5 4.5 2 8l3.5 3.5M10.5 4.5 14 8l-3.5 3.5',
  copy: 'M6 5.5h7.5v8H6zM3 10.5V2.5h7',
  download: 'M8 2v8.5M4.5 7.25 8 10.75l3.5-3.5M2.5 13.75h11',
  help: 'M8 1.75a6.25 6.25 0 1 0 0 12.5 6.25 6.25 0 0 0 0-12.5ZM6 6.25A2 2 0 0 1 8 4.6c1.1 0 2 .75 2 1.75C10 7.75 8 7.75 8 9.2M8 11.2v.2',
  info: 'M8 1.75a6.25 6.25 0 1 0 0 12.5 6.25 6.25 0 0 0 0-12.5ZM8 7.25v4M8 4.75v.2',
  key: 'M5 5.25a2.75 2.75 0 1 0 0 5.5 2.75 2.75 0 0 0 0-5.5ZM7.75 8h6.5M11.25 8v2.25M14.25 8v2',
  link: 'M6.75 9.25a2.75 2.75 0 0 0 4 0l2.25-2.25a2.83 2.83 0 0 0-4-4L8 4M9.25 6.75a2.75 2.75 0 0 0-4 0L3 9a2.83 2.83 0 0 0 4 4l1-1',
  menu: 'M2 4h12M2 8h12M2 12h12',
  moon: 'M13.5 9.5A5.75 5.75 0 0 1 6.5 2.5a5.75 5.75 0 1 0 7 7Z',
  plus: 'M8 2.75v10.5M2.75 8h10.5',
  refresh: 'M13.5 8A5.5 5.5 0 1 1 11.6 3.85M13.5 1.75v3.5H10',
  search: 'M7 2.25a4.75 4.75 0 1 0 0 9.5 4.75 4.75 0 0 0 0-9.5ZM10.5 10.5l3.5 3.5',
  sun: 'M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6ZM8 1v1.25M8 13.75V15M1 8h1.25M13.75 8H15M3 3l.9.9M12.1 12.1l.9.9M3 13l.9-.9M12.1 3.9 13 3',
  table: 'M2 3h12v10H2zM2 6.5h12M6 6.5V13',
  upload: 'M8 10.75V2.25M4.5 5.5 8 2l3.5 3.5M2.5 13.75h11',
  warning: 'M8 2 1.5 13.5h13ZM8 6.5v3.25M8 11.6v.2',
} as const;

/** The name of an icon. */
export type IconName = keyof typeof PATHS;

/** A small picture beside a text or in a named button; screen readers skip it. */
export function Icon({ name }: { readonly name: IconName }): JSX.Element {
  return <Picture path={PATHS[name]} />;
}

/** A button with only an icon; `label` is its name. */
export function IconButton(props: {
  readonly icon: IconName;
  readonly label: string;
  readonly title?: string;
  readonly look?: string;
  readonly onClick: () => void;
}): JSX.Element {
  const { icon, label, title, look = '', onClick } = props;
  return (
    <button type="button" class={`quiet ${look}`} aria-label={label} title={title} onClick={onClick}>
      <Icon name={icon} />
    </button>
  );
}

/** An icon whose path is not part of the first load. */
export function Picture({ path, look = '' }: { readonly path: string; readonly look?: string }): JSX.Element {
  return (
    <svg class={`icon ${look}`} viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
      <path d={path} />
    </svg>
  );
}
