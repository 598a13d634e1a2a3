// The routes of an application for Bun's own router, which finds a path faster than a function can. They are made once for all
// servers of the application. The router also shows each path as it was sent: `Request.url` has dots and backslashes resolved, so a
// path that a proxy passes on must never be judged by it alone.

import type { AnyElysia, InternalRoute } from 'elysia'
import { createBunRouteHandler } from 'elysia/adapter/bun/compose'
import { checkSegments, checkUnmatched } from './target'

export type RouteAnswer = (request: Request) => Response | Promise<Response>
/** The answer to a request whose target is refused. */
type Refuse = (request: Request, error: unknown) => Response
/** Answers by path, and by method if a path has several. */
export type BunRoutes = Record<string, RouteAnswer | Record<string, RouteAnswer>>

/** The methods that Bun's router knows. It answers HEAD by the route of GET, and omits the body. */
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']
/** Maximum number of segments of a path whose segments are checked. The longest route has fewer. */
const MAX_SEGMENTS = 16

/** Gives the routes of an application to the servers that are made from it. */
export function withBunRoutes<App extends AnyElysia>(app: App, refuse: Refuse): App {
  const routes = { ...everyPath((request) => app.fetch(request), refuse), ...ownRoutes(app, refuse) }
  app.config.serve = { ...app.config.serve, routes }
  return app
}

/** Routes that pass every path to one function, except a path that differs from `Request.url`. */
export function everyPath(answer: RouteAnswer, refuse: Refuse): Record<string, RouteAnswer> {
  const checked = guarded(answer, refuse)
  const routes: Record<string, RouteAnswer> = {
    '/*': (request) => {
      try {
        checkUnmatched(request, MAX_SEGMENTS)
      } catch (error) {
        return refuse(request, error)
      }
      return answer(request)
    },
  }
  let path = ''
  for (let segment = 0; segment < MAX_SEGMENTS; segment++) {
    path += `/:segment${segment}`
    routes[path] = checked
    routes[`${path}/`] = checked
  }
  return routes
}

/** Answers by path and method. If an application has two routes for one of them, the first wins. */
function ownRoutes(app: AnyElysia, refuse: Refuse): Record<string, Record<string, RouteAnswer>> {
  const routes: Record<string, Record<string, RouteAnswer>> = {}
  for (const route of app.routes) {
    const { path, method } = route
    if (path.includes('*') || !METHODS.includes(method)) continue
    const answer = answerOf(app, route)
    routes[path] = { [method]: path.includes(':') ? guarded(answer, refuse) : answer, ...routes[path] }
  }
  return routes
}

/** The answer is compiled by the first request: most routes of a process never get one. */
function answerOf(app: AnyElysia, route: InternalRoute): RouteAnswer {
  let answer: RouteAnswer | undefined
  return (request) => {
    answer ??= createBunRouteHandler(app, route) as RouteAnswer
    return answer(request)
  }
}

/** Refuses a path whose segments, decoded by the router, are more than names. */
function guarded(answer: RouteAnswer, refuse: Refuse): RouteAnswer {
  return (request) => {
    try {
      checkSegments(Object.values((request as Bun.BunRequest<string>).params))
    } catch (error) {
      return refuse(request, error)
    }
    return answer(request)
  }
}
