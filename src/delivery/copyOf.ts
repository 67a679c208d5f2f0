/** Copies an object whose fields hold immutable values, which its methods replace. */
export const copyOf = <A extends object>(object: A): A =>
  Object.assign(Object.create(Object.getPrototypeOf(object)) as A, object)
