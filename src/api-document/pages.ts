// The pages of docs/ that are made from tables of the program: `bun run docs` writes them, and a test compares them.
// Pages that are written by hand must not be here.

import { families } from '../families'
import { upstreamKinds } from '../upstreams/kinds'
import { configurationPage } from './configuration'
import { errorCodesPage } from './error-codes'
import { fieldsPage } from './fields'
import { logPage } from './log'
import { modelsPage } from './models'

export const pages: Readonly<Record<string, () => string>> = {
  'docs/configuration.md': () => configurationPage(families, upstreamKinds),
  'docs/fields.md': () => fieldsPage(families),
  'docs/models.md': modelsPage,
  'docs/operate/error-codes.md': errorCodesPage,
  'docs/operate/log.md': logPage,
}
