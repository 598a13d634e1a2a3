// The root path. Browsers get a page that introduces the gateway, with links. Clients get an empty answer: some request this path
// first. It must answer fast, need no key, and reveal nothing about the installation.

import { Elysia } from 'elysia'

const STYLE = `
:root { color-scheme: light dark; background: Canvas; }
body { margin: 12vh auto; max-width: 34rem; padding: 0 1.5rem;
  font: 16px/1.6 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
h1 { font-size: 1.5rem; margin: 0 0 0.5rem; }
ul { padding: 0; list-style: none; }
li { margin: 0.75rem 0; }
a { font-weight: 600; }
code { font-size: 0.9em; overflow-wrap: anywhere; }
`
const POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/** The page. Its links are relative, because a proxy may serve it below another path. */
function pageOf(hasConsole: boolean): string {
  const console =
    '<li><a href="console">Console</a>: requests, balances and keys, for everyone who has a key here.</li>'
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>AI gateway</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>AI gateway</h1>
<p>One base URL and one key for many AI models. The API is below <code>/v1</code>: give a client
this address with <code>/v1</code> as its base URL, and a key that begins with <code>sk-</code>.</p>
<ul>
<li><a href="docs">Documentation</a>: every operation, with samples.</li>
${hasConsole ? console : ''}
<li><a href="openapi.json">OpenAPI document</a>: the same for programs.</li>
<li><a href="health">Health</a>: whether the gateway can work.</li>
</ul>
</main>
</body>
</html>
`
}

export function rootRoutes({ hasConsole }: { hasConsole: boolean }) {
  const page = pageOf(hasConsole)
  const answer = ({ request }: { request: Request }) => {
    if (!request.headers.get('accept')?.includes('text/html')) return new Response(null, { status: 200 })
    return new Response(page, {
      headers: {
        'content-type': 'text/html; charset=utf-8',
        'content-security-policy': POLICY,
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
        vary: 'accept',
      },
    })
  }
  return new Elysia({ name: 'root' }).get('/', answer).head('/', answer)
}
