import type { JSX } from 'preact';
import type { AppState } from '../state/app-state.ts';
import { lazy } from '../panes/lazy.tsx';

type SheetProps = { readonly app: AppState };

const Palette = lazy<SheetProps>(async () => (await import('./Palette.tsx')).Palette);
const Help = lazy<SheetProps>(async () => (await import('./Help.tsx')).Help);
const UploadSheet = lazy<SheetProps>(async () => (await import('./UploadSheet.tsx')).UploadSheet);
const HistorySheet = lazy<SheetProps>(async () => (await import('./HistorySheet.tsx')).HistorySheet);

const SHEETS = { palette: Palette, help: Help, upload: UploadSheet, history: HistorySheet };

/** The dialog that is open. Its code is loaded with its first use. */
export function Sheets({ app }: SheetProps): JSX.Element | null {
  const Shown = app.sheet.value && SHEETS[app.sheet.value];
  return Shown === undefined ? null : <Shown app={app} />;
}
