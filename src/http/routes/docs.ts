// /docs, /docs/json and /openapi.json: the API documentation, made on the first request, so that a start does not wait
// for it. The page must load nothing from elsewhere.

import { Elysia } from 'elysia'
import type { System } from '../../lib/system'
import { errorResponse } from '../errors'
import type { DocsPage, DocsWorld } from './docs-page'

export function docsRoutes(world: DocsWorld & Pick<System, 'newId' | 'log'>, version: string) {
  let made: Promise<DocsPage> | undefined

  async function answer(pick: (page: DocsPage) => Response): Promise<Response> {
    try {
      made ??= import('./docs-page').then(({ createDocsPage }) => createDocsPage(world, version))
      return pick(await made)
    } catch (error) {
      made = undefined
      return errorResponse(error, 'openai', world.newId('req'), world.log)
    }
  }

  return new Elysia({ name: 'docs' })
    .get('/docs', () => answer(({ html }) => html()))
    .get('/docs/json', () => answer(({ json }) => json()))
    .get('/openapi.json', () => answer(({ json }) => json()))
    .get('/docs/viewer.js', ({ request }) => answer(({ script }) => script(request)))
}
