// Sends the documentation: the document, the page of @elysiajs/swagger, and the viewer, which is part of this program.
// Loaded on the first request. The page must load nothing from elsewhere.

import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { swagger } from '@elysiajs/swagger'
import viewerText from '@scalar/api-reference/browser/standalone.js' with { type: 'text' }
import { Elysia } from 'elysia'
import placeText from '../../api-document/page/place.js' with { type: 'text' }
import type { Catalogue } from '../../catalogue/models'
import type { Config } from '../../config/schema'
import { createDocument } from '../callers/document'
import { asset, textDigest } from './docs-asset'

export interface DocsPage {
  html(): Response
  json(): Response
  script(request: Request): Response
}

/** URLs relative to the page, so that it also works below a path of a proxy. */
const RELATIVE = { json: 'docs/json', viewer: 'docs/viewer.js', gateway: '.' }

/** Clients of the viewer that are hidden: the document has its own samples, and one of the viewer's is enough. */
const OTHER_CLIENTS =
  'c clojure csharp dart fsharp go http java js kotlin node objc ocaml php powershell python r ruby rust swift'

/** The viewer's text colours whose contrast is too low for WCAG 2.2 AA, each made a little stronger. */
const READABLE = `
.light-mode.light-mode {
  --scalar-color-2: #545454;
  --scalar-color-3: #666;
  --scalar-color-accent: #0060ad;
  --scalar-color-green: #006b42;
  --scalar-color-blue: #0060ad;
  --scalar-color-red: #b80000;
  --scalar-color-orange: #9c4200;
  --scalar-color-yellow: #755700;
}
.dark-mode.dark-mode {
  --scalar-color-3: #9b9b9b;
  --scalar-color-red: #ff8585;
}`

const viewer = {
  customCss: READABLE,
  hideModels: true,
  // Nothing is requested from the makers of the viewer.
  withDefaultFonts: false,
  telemetry: false,
  agent: { disabled: true },
  mcp: { disabled: true },
  hideClientButton: true,
  showDeveloperTools: 'never',
  defaultHttpClient: { targetKey: 'shell', clientKey: 'curl' },
  hiddenClients: {
    ...Object.fromEntries(OTHER_CLIENTS.split(' ').map((name) => [name, true])),
    shell: ['httpie', 'wget'],
  },
}

/** Cached permanently, because the URL contains a hash of the text. */
const CACHED = { 'cache-control': 'public, max-age=31536000, immutable' }

export interface DocsWorld {
  catalogue: Catalogue
  config: Config
}

export function createDocsPage({ catalogue, config }: DocsWorld, version: string): Promise<DocsPage> {
  return createPage(createDocument({ catalogue, version, publicUrl: config.server?.publicUrl }), RELATIVE)
}

/** The page of a document, with URLs relative to the page. */
export async function createPage(
  document: { info: { title: string; summary: string; 'x-gateway-version': string } },
  relative: { json: string; viewer: string; gateway: string },
): Promise<DocsPage> {
  const script = `${placeText}\n${viewerText}`
  const packed = await promisify(gzip)(script)
  const { title, summary, 'x-gateway-version': version } = document.info
  const app = new Elysia().use(
    swagger({
      path: '/docs',
      // The page shows only these; they are in its HTML unchanged.
      documentation: { info: { title, description: summary, version } },
      scalarCDN: `${relative.viewer}?${textDigest(script).slice(0, 16)}`,
      // The package's types are those of an older viewer, which received its document as `spec`.
      scalarConfig: { ...viewer, url: relative.json, spec: undefined, gateway: relative.gateway } as object,
    }),
  )
  const made = await (await app.handle(new Request('http://localhost/docs'))).text()
  const html = made
    // Screen readers choose a voice by the language.
    .replace('<html>', '<html lang="en">')
    // The viewer reads the URL in its configuration, and calls this place deprecated.
    .replace(/\s+data-url="[^"]*"/, '')
    // Even white space is a script that the policy would have to allow.
    .replace(/>\s+<\/script>/, '></script>')
  const json = JSON.stringify(document)
  return {
    html: () => asset(html, 'text/html; charset=utf-8', { 'content-security-policy': POLICY }),
    json: () => asset(json, 'application/json'),
    script({ headers }) {
      const isPacked = /\bgzip\b/.test(headers.get('accept-encoding') ?? '')
      const more = { ...CACHED, vary: 'accept-encoding', ...(isPacked && { 'content-encoding': 'gzip' }) }
      return asset(isPacked ? packed : script, 'text/javascript; charset=utf-8', more)
    },
  }
}

/**
 * The page's security policy: only scripts and requests of this gateway. Inline styles are allowed, because the viewer writes its
 * own there.
 */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "connect-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data: blob:",
  "media-src 'self' blob:",
  "font-src 'self' data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')
