// Builds /docs/reference: the pages of docs/ that are data, on one page with a search. Without scripts it shows all of them. It
// must load nothing from elsewhere, and its links lead only to places on it.

import { Marked, type Tokens } from 'marked'
import searchText from '../../api-document/page/search.js' with { type: 'text' }
import { type ReferencePage, referencePages } from '../../api-document/reference'
import { asset, ownScripts } from './docs-asset'

const STYLE = `
:root { color-scheme: light dark; --line: light-dark(#ddd, #444); --quiet: light-dark(#555, #aaa); background: Canvas; }
body { margin: 0 auto; max-width: 75rem; padding: 0 1.5rem 4rem;
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
header { position: sticky; top: 0; padding: 1rem 0; background: Canvas; border-bottom: 1px solid var(--line); }
h1 { font-size: 1.25rem; margin: 0 0 0.5rem; }
h2, h3, h4 { scroll-margin-top: 8rem; }
input { font: inherit; width: min(30rem, 100%); box-sizing: border-box; padding: 0.35rem 0.6rem; }
nav a { margin-right: 1rem; }
output { color: var(--quiet); margin-left: 0.5rem; }
code { font-size: 0.9em; overflow-wrap: anywhere; }
pre { white-space: pre-wrap; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: 0.35rem 0.6rem; border-bottom: 1px solid var(--line); }
[hidden] { display: none; }
`

export async function createReference(): Promise<() => Response> {
  const pages = referencePages()
  const sections = pages.map((page) => sectionOf(page, new Set(pages.map(({ id }) => id))))
  const titles = pages.map(({ id, markdown }) => `<a href="#${id}">${titleOf(markdown)}</a>`)
  const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Reference</title>
<style>${STYLE}</style>
</head>
<body>
<header>
<h1>Reference</h1>
<p><label>Search <input type="search" autofocus></label><output></output></p>
<nav>${titles.join('')}<a href="../docs">API</a></nav>
</header>
<main>
${sections.join('\n')}
</main>
<script>
${searchText}</script>
</body>
</html>
`
  const policy = [
    "default-src 'none'",
    `script-src ${ownScripts(html)}`,
    "style-src 'unsafe-inline'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
  return () => asset(html, 'text/html; charset=utf-8', { 'content-security-policy': policy })
}

function titleOf(markdown: string): string {
  return /^# ([^:\n]*)/.exec(markdown)?.[1] ?? ''
}

function sectionOf({ id, markdown }: ReferencePage, known: ReadonlySet<string>): string {
  const reader = new Marked({
    renderer: {
      // The page has one heading above those of its parts.
      heading({ tokens, depth }: Tokens.Heading) {
        return `<h${depth + 1}>${this.parser.parseInline(tokens)}</h${depth + 1}>\n`
      },
      link({ href, tokens }: Tokens.Link) {
        const text = this.parser.parseInline(tokens)
        const target = /([\w-]+)\.md(#.*)?$/.exec(href)?.[1] ?? ''
        return known.has(target) ? `<a href="#${target}">${text}</a>` : text
      },
      image: () => '',
    },
  })
  return `<section id="${id}">\n${reader.parse(markdown, { async: false })}</section>`
}
