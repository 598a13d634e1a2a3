// /docs, /docs/json and /openapi.json: the API documentation. /docs/reference: pages of docs/ that are data, with a search. They
// are built on the first request, so that a start does not wait for them, and must load nothing from elsewhere.

import { Elysia } from 'elysia'
import type { Catalogue } from '../../catalogue/models'
import type { System } from '../../lib/system'
import { errorResponse } from '../errors'
import type { DocsPage, DocsWorld } from './docs-page'

export function docsRoutes(world: DocsWorld & Pick<System, 'newId' | 'log'>, version: string) {
  /** The page of each catalogue: a reload replaces it. */
  let made = new WeakMap<Catalogue, Promise<DocsPage>>()

  function pageOf(catalogue: Catalogue): Promise<DocsPage> {
    let page = made.get(catalogue)
    if (!page) {
      page = import('./docs-page').then(({ createDocsPage }) => createDocsPage(world, version))
      made.set(catalogue, page)
    }
    return page
  }

  let reference: Promise<() => Response> | undefined

  async function answer(make: () => Promise<Response>): Promise<Response> {
    try {
      return await make()
    } catch (error) {
      made = new WeakMap()
      reference = undefined
      return errorResponse(error, 'openai', world.newId('req'), world.log)
    }
  }

  const ofPage = (pick: (page: DocsPage) => Response) =>
    answer(async () => pick(await pageOf(world.catalogue)))

  return new Elysia({ name: 'docs' })
    .get('/docs', () => ofPage(({ html }) => html()))
    .get('/docs/json', () => ofPage(({ json }) => json()))
    .get('/openapi.json', () => ofPage(({ json }) => json()))
    .get('/docs/viewer.js', ({ request }) => ofPage(({ script }) => script(request)))
    .get('/docs/reference', () =>
      answer(async () => {
        reference ??= import('./docs-reference').then(({ createReference }) => createReference())
        return (await reference)()
      }),
    )
}
