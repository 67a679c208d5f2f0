/** Makes a shallow copy of an object. The fields must hold immutable values, which the object's methods replace. */
export const copyOf = <A extends object>(object: A): A =>
  Object.assign(Object.create(Object.getPrototypeOf(object)) as A, object)
