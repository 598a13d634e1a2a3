// The gateway's own part of workers, for the compiler only: its files are read here for their types, with the browser's library.

interface Worker {
  unref(): void
}
