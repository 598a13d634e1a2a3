// /docs, /docs/json and /openapi.json: the API documentation, made on the first request, so that a start does not wait
// for it. The page must load nothing from elsewhere.

import { Elysia } from 'elysia'
import type { Catalogue } from '../../catalogue/models'
import type { System } from '../../lib/system'
import { errorResponse } from '../errors'
import type { DocsPage, DocsWorld } from './docs-page'

export function docsRoutes(world: DocsWorld & Pick<System, 'newId' | 'log'>, version: string) {
  /** The page of each catalogue: another one comes with a reload. */
  let made = new WeakMap<Catalogue, Promise<DocsPage>>()

  function pageOf(catalogue: Catalogue): Promise<DocsPage> {
    let page = made.get(catalogue)
    if (!page) {
      page = import('./docs-page').then(({ createDocsPage }) => createDocsPage(world, version))
      made.set(catalogue, page)
    }
    return page
  }

  async function answer(pick: (page: DocsPage) => Response): Promise<Response> {
    try {
      return pick(await pageOf(world.catalogue))
    } catch (error) {
      made = new WeakMap()
      return errorResponse(error, 'openai', world.newId('req'), world.log)
    }
  }

  return new Elysia({ name: 'docs' })
    .get('/docs', () => answer(({ html }) => html()))
    .get('/docs/json', () => answer(({ json }) => json()))
    .get('/openapi.json', () => answer(({ json }) => json()))
    .get('/docs/viewer.js', ({ request }) => answer(({ script }) => script(request)))
}
