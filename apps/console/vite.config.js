import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';

// The output is served with a strict content security policy: no inline script, style or data URL.
export default defineConfig({
  base: './',
  // The source, as for the other bundles: a start compiles no package.
  resolve: {
    alias: {
      '@svc/client/internal': fileURLToPath(new URL('../../packages/client/src/internal.ts', import.meta.url)),
    },
  },
  build: {
    target: 'es2022',
    modulePreload: false,
    assetsInlineLimit: 0,
    assetsDir: 'console/assets',
    reportCompressedSize: false,
    rolldownOptions: {
      output: {
        // Code that is used together is one file: it compresses better, and is loaded by one request.
        codeSplitting: {
          includeDependenciesRecursively: false,
          groups: [
            { name: 'analysis', test: /src\/(?:chart|summary|plan)\/(?!draw|paint|pixels|theme-colours)/ },
            {
              name: 'query',
              test: /src\/(?:query\/(?!Draft)|api\/(?:queries|download|sql-stream|ipc-messages|arrow-)|editor\/(?:vocabulary|sql-tokens|statement-at|error-place)|panes\/EngineSwitch)/,
            },
            {
              name: 'sheets',
              test: /src\/(?:sheets\/(?!Sheets)|panes\/(?:Upload|InfoPane|TsdbTables|EmptyServer|DropArea|make-link)|state\/(?:share-link|palette-items|upload-plan)|api\/upload)/,
            },
          ],
        },
      },
    },
  },
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
});
