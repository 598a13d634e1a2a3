// A statement as a printable page, and as a table. It must show only issued content, and never interpret text as markup or as a
// formula.

import { isoDay } from '../../db/iso-time'
import type { ReadableStatement, StatementContent } from './statements'

const KINDS: Readonly<Record<string, string>> = {
  credit: 'Top-up',
  payment: 'Payment',
  code: 'Code redeemed',
  adjust: 'Correction',
  allowance: 'Allowance',
  allowance_end: 'Allowance not used',
}

const STYLE = `
:root { color-scheme: light; }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 52rem; padding: 2.5rem 1.5rem; background: #fff; color: #1c1e21;
  overflow-wrap: anywhere; font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
header { display: flex; flex-wrap: wrap; gap: 1.5rem; justify-content: space-between; margin-bottom: 2.5rem; }
header > * { min-width: 0; }
.logo { font-size: 1.5rem; font-weight: 700; letter-spacing: -0.01em; }
.seller { text-align: right; color: #4b5157; font-size: 0.875rem; }
h1 { font-size: 1.375rem; margin: 0 0 0.25rem; }
h2 { font-size: 1rem; margin: 2rem 0 0.5rem; }
.meta { color: #4b5157; margin: 0; }
.buyer { margin: 0 0 2rem; }
table { width: 100%; border-collapse: collapse; }
th { text-align: left; font-weight: 600; color: #4b5157; font-size: 0.8125rem; border-bottom: 1px solid #c9cdd2; }
th, td { padding: 0.375rem 0.5rem 0.375rem 0; vertical-align: top; }
td { border-bottom: 1px solid #eceef0; }
.number { text-align: right; padding-right: 0; font-variant-numeric: tabular-nums; white-space: nowrap; }
.transfer td:nth-child(2) { overflow-wrap: normal; }
.sum td { font-weight: 600; border-bottom: 0; border-top: 1px solid #c9cdd2; }
.note { margin-top: 2rem; white-space: pre-line; }
footer { margin-top: 2.5rem; color: #6a7076; font-size: 0.75rem; }
@media (max-width: 36rem) { .seller { text-align: left; } }
@media print { body { padding: 0; max-width: none; font-size: 11pt; } @page { margin: 18mm; }
  tr, .seller { break-inside: avoid; } h2 { break-after: avoid; } thead { display: table-header-group; } }
`

/** A complete page, without external resources. `names` maps ids of spenders to names, as far as known. */
export function statementHtml(
  { number, content, hash, issuedAt }: ReadableStatement,
  names: ReadonlyMap<string, string> = new Map(),
): string {
  const { account, display_name: name, seller, logo, note, from, to } = content
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>Statement ${number} - ${html(name ?? account)} - ${html(content.month)}</title>
<style>${STYLE}</style>
</head>
<body>
<header>
<div class="logo">${html(logo ?? seller?.name ?? '')}</div>
${seller ? `<div class="seller">${sellerLines(seller).map(line).join('')}</div>` : ''}
</header>
<main>
<h1>Statement ${number}</h1>
<p class="meta">${html(from)} to ${html(to)} (UTC), issued ${isoDay(issuedAt)}. All amounts in US dollars.</p>
<h2>For</h2>
<div class="buyer">${[...(name === null ? [] : [name]), `Account ${account}`].map(line).join('')}</div>
${balanceTable(content)}
${usageTable(content)}
${spenderTable(content, names)}
${transferTable(content)}
${note === null ? '' : `<p class="note">${html(note)}</p>`}
</main>
<footer>SHA-256 ${html(hash)}</footer>
</body>
</html>
`
}

function sellerLines(seller: NonNullable<StatementContent['seller']>): string[] {
  const { name, address, tax_id: taxId, contact } = seller
  return [
    name,
    ...address,
    ...(taxId === null ? [] : [`Tax number ${taxId}`]),
    ...(contact === null ? [] : [contact]),
  ]
}

function balanceTable(content: StatementContent): string {
  const { tax } = content
  const moved = movedRows(content)
  return `<table>
<thead><tr><th>Balance</th><th class="number">USD</th></tr></thead>
<tbody>
${moved.map(([what, usd]) => row([what], [usd])).join('\n')}
${row([`Balance on ${content.to}`], [content.closing_usd], 'sum')}
</tbody>
</table>${
    tax === null
      ? ''
      : `
<h2>Tax</h2>
<table>
<thead><tr><th>${tax.included ? 'Contained in what was used' : 'Due on top of what was used'}</th><th class="number">USD</th></tr></thead>
<tbody>
${row(['Net'], [tax.net_usd])}
${row([`${tax.name} ${tax.percent} %`], [tax.tax_usd])}
${row(['Total'], [tax.total_usd], 'sum')}
</tbody>
</table>`
  }`
}

function movedRows(content: StatementContent): [string, string][] {
  const moved = content.transfers.length
  return [
    [`Balance before ${content.from}`, content.opening_usd],
    ...(content.earlier_usd === '0.00'
      ? []
      : [['Movements of earlier months', content.earlier_usd] as [string, string]]),
    ...content.transfers.map(({ at, kind, amount_usd: usd }): [string, string] => [
      moved > MAX_IN_SUMMARY ? `${KINDS[kind] ?? kind}` : `${KINDS[kind] ?? kind} on ${at.slice(0, 10)}`,
      usd,
    ]),
    ['Used', content.used_usd === '0.00' ? '0.00' : `-${content.used_usd}`],
  ]
}

/** Number of transfers whose days are shown in the summary; more are listed below it. */
const MAX_IN_SUMMARY = 12

function usageTable({ usage, used_usd: used }: StatementContent): string {
  if (usage.length === 0) return ''
  return `<h2>Used</h2>
<table>
<thead><tr><th>Model</th><th class="number">Requests</th><th class="number">USD</th></tr></thead>
<tbody>
${usage.map(({ model, requests, amount_usd: usd }) => row([model], [String(requests), usd])).join('\n')}
${row(['Sum'], ['', used], 'sum')}
</tbody>
</table>`
}

function spenderTable(
  { spenders = [], used_usd: used }: StatementContent,
  names: ReadonlyMap<string, string>,
): string {
  if (spenders.length === 0) return ''
  const shown = (id: string | null) => (id === null ? 'Without a spender' : (names.get(id) ?? id))
  return `<h2>By spender</h2>
<table>
<thead><tr><th>Spender</th><th class="number">Requests</th><th class="number">USD</th></tr></thead>
<tbody>
${spenders.map(({ spender, requests, amount_usd: usd }) => row([shown(spender)], [String(requests), usd])).join('\n')}
${row(['Sum'], ['', used], 'sum')}
</tbody>
</table>`
}

function transferTable({ transfers }: StatementContent): string {
  if (transfers.every(({ note }) => note === null)) return ''
  return `<h2>Payments and corrections</h2>
<table>
<thead><tr><th>Time (UTC)</th><th>Kind</th><th>Note</th><th class="number">USD</th></tr></thead>
<tbody>
${transfers
  .map(({ at, kind, note, amount_usd: usd }) =>
    row([at.slice(0, 16).replace('T', ' '), KINDS[kind] ?? kind, note ?? ''], [usd], 'transfer'),
  )
  .join('\n')}
</tbody>
</table>`
}

function row(texts: readonly string[], numbers: readonly string[], kind = ''): string {
  const cells = [
    ...texts.map((text) => `<td>${html(text)}</td>`),
    ...numbers.map((text) => `<td class="number">${html(text)}</td>`),
  ]
  return `<tr${kind === '' ? '' : ` class="${kind}"`}>${cells.join('')}</tr>`
}

function line(text: string): string {
  return `<div>${html(text)}</div>`
}

function html(text: string): string {
  return Bun.escapeHTML(text)
}

/** The titles and lines of a statement as a table: each amount once, signed as the account sees it. */
export const STATEMENT_TITLES = ['number', 'account', 'month', 'line', 'at', 'text', 'requests', 'amount_usd']

export function statementLines({ number, content }: ReadableStatement): (string | number | null)[][] {
  const { account, month } = content
  const each = (
    line: string,
    amount: string,
    {
      at = null,
      text = null,
      requests = null,
    }: { at?: string | null; text?: string | null; requests?: number | null } = {},
  ) => [number, account, month, line, at, text, requests, amount]
  const negative = (usd: string) => (usd === '0.00' ? usd : `-${usd}`)
  return [
    each('opening', content.opening_usd, { at: content.from }),
    ...(content.earlier_usd === '0.00' ? [] : [each('earlier', content.earlier_usd)]),
    ...content.transfers.map(({ at, kind, note, amount_usd: usd }) => each(kind, usd, { at, text: note })),
    ...content.usage.map(({ model, requests, amount_usd: usd }) =>
      each('usage', negative(usd), { text: model, requests }),
    ),
    each('closing', content.closing_usd, { at: content.to }),
    ...(content.tax === null
      ? []
      : [each('tax', content.tax.tax_usd, { text: `${content.tax.name} ${content.tax.percent} %` })]),
  ]
}
