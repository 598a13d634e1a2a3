// Markdown of a model as elements. It is parsed into a tree, and each node becomes an element of a known kind: a model's text never
// becomes HTML, a URL that is loaded, or a script.

import { lexer, type Token, type Tokens } from 'marked'
import type { ComponentChildren, VNode } from 'preact'
import { useMemo } from 'preact/hooks'
import { Scroller } from '../parts/code'
import { keyTexts } from '../texts'
import { CodeBlock } from './code-block'

const words = keyTexts.playground

/** A longer text is shown unformatted while it arrives, in characters: it would be parsed again for each piece. */
const MAX_WHILE_RUNNING = 60_000

export function Markdown({ text, isRunning }: { text: string; isRunning: boolean }) {
  if (isRunning && text.length > MAX_WHILE_RUNNING) return <p class="said">{text}</p>
  return (
    <div class="prose">
      {lexer(text).map((token, index) => (
        <Block token={token} key={index} />
      ))}
    </div>
  )
}

/** One block, drawn again only when its text changes: all except the last are left alone while an answer arrives. */
function Block({ token }: { token: Token }) {
  return useMemo(() => <>{blockOf(token)}</>, [token.raw, token.type])
}

function blockOf(token: Token): ComponentChildren {
  switch (token.type) {
    case 'heading':
      return heading(token as Tokens.Heading)
    case 'paragraph':
      return <p>{inline(token.tokens)}</p>
    case 'text':
      return token.tokens ? inline(token.tokens) : token.text
    case 'code':
      return <CodeBlock language={token.lang ?? ''} text={token.text} />
    case 'blockquote':
      return <blockquote>{blocks(token.tokens)}</blockquote>
    case 'list':
      return list(token as Tokens.List)
    case 'table':
      return table(token as Tokens.Table)
    case 'hr':
      return <hr />
    case 'space':
    case 'def':
      return null
    default:
      return <p class="said">{token.raw}</p>
  }
}

function blocks(tokens: readonly Token[] | undefined): VNode[] {
  return (tokens ?? []).map((token, index) => <Block token={token} key={index} />)
}

/** The page's own headings end at the second level. */
function heading({ depth, tokens }: Tokens.Heading): VNode {
  const content = inline(tokens)
  return depth < 3 ? <h3 class="prose-large">{content}</h3> : <h4>{content}</h4>
}

function list({ ordered, start, items }: Tokens.List): VNode {
  const rows = items.map(({ tokens, task, checked }, index) => (
    <li key={index}>
      {task && <input type="checkbox" checked={checked ?? false} disabled aria-label={words.task} />}
      {blocks(tokens)}
    </li>
  ))
  return ordered ? <ol start={Number(start) || 1}>{rows}</ol> : <ul>{rows}</ul>
}

function table({ header, rows, align }: Tokens.Table): VNode {
  const classOf = (index: number) => (align[index] === 'right' ? 'number' : undefined)
  return (
    <Scroller class="prose-table" label={words.table}>
      <table>
        <thead>
          <tr>
            {header.map(({ tokens }, index) => (
              <th class={classOf(index)} key={index}>
                {inline(tokens)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, place) => (
            <tr key={place}>
              {row.map(({ tokens }, index) => (
                <td class={classOf(index)} key={index}>
                  {inline(tokens)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </Scroller>
  )
}

function inline(tokens: readonly Token[] | undefined): ComponentChildren[] {
  return (tokens ?? []).map((token, index) => <Inline token={token} key={index} />)
}

function Inline({ token }: { token: Token }): ComponentChildren {
  switch (token.type) {
    case 'strong':
      return <strong>{inline(token.tokens)}</strong>
    case 'em':
      return <em>{inline(token.tokens)}</em>
    case 'del':
      return <del>{inline(token.tokens)}</del>
    case 'codespan':
      return <code>{token.text}</code>
    case 'br':
      return <br />
    case 'link':
    case 'image':
      return <Link href={token.href} text={token.tokens ? inline(token.tokens) : token.text} />
    case 'text':
      return token.tokens ? inline(token.tokens) : token.text
    case 'escape':
      return token.text
    default:
      return token.raw
  }
}

/** A link to the web or a mail address; any other becomes its text. A picture is a link too: it is not loaded. */
function Link({ href, text }: { href: string; text: ComponentChildren }) {
  const protocol = URL.parse(href)?.protocol ?? ''
  if (!['http:', 'https:', 'mailto:'].includes(protocol)) return <>{text}</>
  return (
    <a href={href} target="_blank" rel="noreferrer noopener nofollow">
      {text}
    </a>
  )
}
