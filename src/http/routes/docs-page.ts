// Sends the documentation: the document, its page, and the viewer, which is part of this program. Loaded on the first request.
// The page must load nothing from elsewhere.

import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import viewerText from '@scalar/api-reference/browser/standalone.js' with { type: 'text' }
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

/** Addresses relative to the page, so that it works below a path of a proxy too. */
const RELATIVE = { json: 'docs/json', viewer: 'docs/viewer.js', gateway: '.' }

/** Clients that are hidden: the document has its own samples, and one of the viewer's is enough. */
const OTHER_CLIENTS =
  'c clojure csharp dart fsharp go http java js kotlin node objc ocaml php powershell python r ruby rust swift'

const viewer = {
  customCss: '',
  hideModels: true,
  // Nothing is requested from the viewer's makers.
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

/** Cached permanently, because the address names the text. */
const CACHED = { 'cache-control': 'public, max-age=31536000, immutable' }

export interface DocsWorld {
  catalogue: Catalogue
  config: Config
}

export function createDocsPage({ catalogue, config }: DocsWorld, version: string): Promise<DocsPage> {
  return createPage(createDocument({ catalogue, version, publicUrl: config.server?.publicUrl }), RELATIVE)
}

/** The page of a document, with addresses relative to the page. */
export async function createPage(
  document: { info: { title: string; summary: string } },
  relative: { json: string; viewer: string; gateway: string },
): Promise<DocsPage> {
  const script = `${placeText}\n${viewerText}`
  const packed = await promisify(gzip)(script)
  const html = pageOf(document.info, {
    script: `${relative.viewer}?${textDigest(script).slice(0, 16)}`,
    configuration: { ...viewer, url: relative.json, gateway: relative.gateway },
  })
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

/** The page: what the viewer shows, and its script. */
function pageOf(
  { title, summary }: { title: string; summary: string },
  { script, configuration }: { script: string; configuration: object },
): string {
  const shown = Bun.escapeHTML(JSON.stringify(configuration))
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <title>${Bun.escapeHTML(title)}</title>
    <meta name="description" content="${Bun.escapeHTML(summary)}">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <style>body { margin: 0 }</style>
  </head>
  <body>
    <script id="api-reference" data-configuration="${shown}"></script>
    <script src="${script}"></script>
  </body>
</html>
`
}

/**
 * The page's security policy: only scripts and requests of this gateway. Styles may be in the page, because the viewer writes its
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
