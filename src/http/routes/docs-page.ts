// The documentation as it is sent: the document, and the page with a script and a style of our own in place of the ones
// that it would load from the internet. Loaded when it is first asked for.

import { swagger } from '@elysiajs/swagger'
import { Elysia } from 'elysia'
import type { Catalogue } from '../../catalogue/models'
import type { Config } from '../../config/schema'
import { createDocument } from '../../docs/document'
import styleText from '../../docs/page/viewer.css' with { type: 'text' }
import scriptText from '../../docs/page/viewer.js' with { type: 'text' }

export interface DocsPage {
  html(): Response
  json(): Response
  script(): Response
  style(): Response
}

const JSON_PATH = '/docs/json'

export interface DocsWorld {
  catalogue: Catalogue
  config: Config
}

export async function createDocsPage({ catalogue, config }: DocsWorld, version: string): Promise<DocsPage> {
  const documentation = createDocument({ catalogue, version, publicUrl: config.server?.publicUrl })
  const app = new Elysia().use(
    swagger({
      path: '/docs',
      specPath: JSON_PATH,
      // Its types are those of OpenAPI 3.0.
      documentation: documentation as object,
      scalarCDN: '/docs/viewer.js',
      scalarConfig: { spec: { url: JSON_PATH }, customCss: '@import url(/docs/viewer.css);' },
    }),
  )
  const read = async (path: string) => (await app.handle(new Request(`http://localhost${path}`))).text()
  const html = withoutInlineScript(await read('/docs'))
  const json = await read(JSON_PATH)
  const policy = policyOf(html)
  return {
    html: () => asset(html, 'text/html; charset=utf-8', { 'content-security-policy': policy }),
    json: () => asset(json, 'application/json'),
    script: () => asset(scriptText, 'text/javascript; charset=utf-8'),
    style: () => asset(styleText, 'text/css; charset=utf-8'),
  }
}

/** What only tells the script where the document is becomes data; the script itself waits for it, which only a module can. */
function withoutInlineScript(html: string): string {
  return html
    .replace('id="api-reference"', 'id="api-reference" type="application/json"')
    .replace(' crossorigin>', ' type="module">')
}

/** Nothing but what this gateway sends, and of inline styles only those of the page itself. */
function policyOf(html: string): string {
  const styles = [...html.matchAll(/<style>([\s\S]*?)<\/style>/g)].map(
    ([, text = '']) => `'sha256-${new Bun.CryptoHasher('sha256').update(text).digest('base64')}'`,
  )
  return [
    "default-src 'none'",
    "script-src 'self'",
    "connect-src 'self'",
    `style-src 'self' ${styles.join(' ')}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}

function asset(body: string, contentType: string, more: Record<string, string> = {}): Response {
  return new Response(body, {
    headers: {
      'content-type': contentType,
      'cache-control': 'no-cache',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      ...more,
    },
  })
}
