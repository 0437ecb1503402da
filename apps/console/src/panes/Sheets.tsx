import type { JSX } from 'preact';
import type { AppState } from '../state/app-state.ts';
import { lazy } from './lazy.tsx';

type SheetProps = { readonly app: AppState };

const Palette = lazy<SheetProps>(async () => (await import('./Palette.tsx')).Palette);
const Help = lazy<SheetProps>(async () => (await import('./Help.tsx')).Help);
const UploadSheet = lazy<SheetProps>(async () => (await import('./UploadSheet.tsx')).UploadSheet);
const HistorySheet = lazy<SheetProps>(async () => (await import('./HistorySheet.tsx')).HistorySheet);

/** The dialog that is open. Its code is loaded with its first use. */
export function Sheets({ app }: SheetProps): JSX.Element | null {
  switch (app.sheet.value) {
    case 'palette':
      return <Palette app={app} />;
    case 'help':
      return <Help app={app} />;
    case 'upload':
      return <UploadSheet app={app} />;
    case 'history':
      return <HistorySheet app={app} />;
    case undefined:
      return null;
  }
}
