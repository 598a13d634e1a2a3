// The pages of docs/ that are data, for the reference of a running gateway: in order, each with the name of its file. It describes
// what the program does, because most pages are generated from its own tables.

import dialects from '../../docs/dialects.md' with { type: 'text' }
import events from '../../docs/operate/events.md' with { type: 'text' }
import { pages } from './pages'

export interface ReferencePage {
  /** The name of its file without the ending, by which other pages link to it. */
  id: string
  markdown: string
}

/** Names the generator of the page, which its readers need not know. */
const MADE_BY = /^Made by `bun run docs`.*\n\n/m

const written: Readonly<Record<string, () => string>> = {
  ...pages,
  'docs/dialects.md': () => dialects,
  'docs/operate/events.md': () => events,
}

export function referencePages(): ReferencePage[] {
  return ['operate/error-codes', 'configuration', 'operate/log', 'operate/events', 'dialects', 'fields'].map(
    (path) => ({
      id: path.replace(/^operate\//, ''),
      markdown: (written[`docs/${path}.md`]?.() ?? '').replace(MADE_BY, ''),
    }),
  )
}
