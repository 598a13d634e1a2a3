// The routes of an application for Bun's own router, which finds a path sooner than a function can. They are made once for all
// servers of the application. What they have not, wildcards among it, comes to the function of the application.

import type { AnyElysia, InternalRoute } from 'elysia'
import { createBunRouteHandler } from 'elysia/adapter/bun/compose'

type Answer = (request: Request) => Response | Promise<Response>

/** Those that Bun's router knows. It answers HEAD by the route of GET, and leaves the body out. */
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

/** Gives the routes of an application, which has all of them, to the servers that are made of it. */
export function withBunRoutes<App extends AnyElysia>(app: App): App {
  app.config.serve = { ...app.config.serve, routes: bunRoutes(app) }
  return app
}

/** Answers by path and method. Where an application has two routes for one of them, the first counts. */
function bunRoutes(app: AnyElysia): Record<string, Record<string, Answer>> {
  const routes: Record<string, Record<string, Answer>> = {}
  for (const route of app.routes) {
    const { path, method } = route
    if (path.includes('*') || !METHODS.includes(method)) continue
    routes[path] = { [method]: answerOf(app, route), ...routes[path] }
  }
  return routes
}

/** The answer is compiled by the first request: most routes of a process never have one. */
function answerOf(app: AnyElysia, route: InternalRoute): Answer {
  let answer: Answer | undefined
  return (request) => {
    answer ??= createBunRouteHandler(app, route) as Answer
    return answer(request)
  }
}
