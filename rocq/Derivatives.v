(* Derivatives of expressions in one entry of an input: a function on syntax, by the rules of sums and products and by slopes. *)
From Coq Require Import ZArith NArith Lia.
From Coq Require List.
From mathcomp Require Import all_ssreflect ssralg ssrnum.
From mathcomp Require Import boolp classical_sets functions reals topology normedtype derive sequences exp realfun.
From Attention Require Import Rationals Expressions Functions Rules.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory numFieldNormedType.Exports.
Local Open Scope ring_scope.

(* names below k stay as they are *)
Definition fixed (k : N) (v : index) : index := if N.ltb v.1 k then v else moved k v.
Fixpoint every_index (e : expr) : seq index := match e with
  | Delta i j => [:: i; j] | Entry _ vs => vs
  | Add a b | Mul a b => every_index a ++ every_index b
  | Sum v a => v :: every_index a | _ => [::] end.
Fixpoint expr_eq (a b : expr) : bool := match a, b with
  | Number p, Number q => p == q | Power b p, Power c q => (b == c) && (p == q)
  | Delta i j, Delta k l => (i == k) && (j == l) | Entry s vs, Entry t ws => (s == t) && (vs == ws)
  | Add a b, Add c d | Mul a b, Mul c d => expr_eq a c && expr_eq b d
  | Sum v a, Sum w b => (v == w) && expr_eq a b | _, _ => false end.

Fixpoint diff (slope : nat -> seq index -> expr) (e : expr) : expr := match e with
  | Entry k vs => slope k vs
  | Add a b => Add (diff slope a) (diff slope b)
  | Mul a b => Add (Mul (diff slope a) b) (Mul a (diff slope b))
  | Sum v a => Sum v (diff slope a)
  | _ => Int 0 end.

(* whether an entry depends on the input `by_` *)
Fixpoint depends (T : table) (by_ k : nat) : bool := (k == by_) || match T with
  | [::] => false
  | (j, n) :: T' => if j == k then seq.has (depends T' by_) (numbers (argument n)) else depends T' by_ k end.
(* the function h of the argument of n, by its number *)
Definition beside (T : table) (h : head) (n : node) : option nat :=
  foldl (fun found jm => if [&& head_eq (function jm.2) h, slots jm.2 == slots n & expr_eq (argument jm.2) (argument n)]
                         then Some jm.1 else found) None T.
(* new indices of the sizes of vs *)
Fixpoint named_from (k : N) (vs : seq index) : seq index := match vs with
  | [::] => [::] | v :: vs' => (k, v.2) :: named_from (N.succ k) vs' end.
Definition relocated (n : node) (ws : seq index) (k : N) (d : expr) : expr := place (lookup (slots n) ws (fixed k)) k d.

Section Slope.
Variables (T : table) (by_ : nat) (at_ : seq index).

(* d is the derivative of the argument; the slope of the entry of function k at the indices vs *)
Definition slope_of (k : nat) (n : node) (moves : bool) (d : expr) (vs : seq index) : expr :=
  let m := above (at_ ++ vs ++ slots n ++ every_index d) in
  let scaled q h := if moves then if beside T h n is Some j then
      let e := Mul (Entry j vs) (relocated n vs m d) in if q is Some q then Mul (Number q) e else e
    else Int 0 else Int 0 in
  match function n with
  | Exp => Mul (Entry k vs) (relocated n vs m d)
  | Raised q => if q == (1%Z, xH) then relocated n vs m d else scaled (Some q) (Raised (plus q ((-1)%Z, xH)))
  | Log => scaled None (Raised ((-1)%Z, xH))
  | Softmax i =>
    let front := take (size vs - i) vs in
    let ls := named_from m (drop (size vs - i) vs) in
    let m' := N.add m (N.of_nat (size ls)) in
    Mul (Entry k vs) (Sub (relocated n vs m' d) (Sums ls (Mul (Entry k (front ++ ls)) (relocated n (front ++ ls) m' d))))
  | Inverse i =>
    let rows := take i vs in let columns := drop i vs in
    let one := named_from m rows in
    let two := named_from (N.add m (N.of_nat i)) columns in
    let m' := N.add m (N.of_nat (i + i)) in
    Neg (Sums (one ++ two) (Mul (Entry k (rows ++ one)) (Mul (relocated n (one ++ two) m' d) (Entry k (two ++ columns)))))
  | _ => Int 0 end.
Fixpoint slope (T' : table) (k : nat) (vs : seq index) : expr :=
  if k == by_ then deltas_between vs at_ else match T' with
  | [::] => Int 0
  | (j, n) :: T'' =>
    if j == k then
      let m := above (at_ ++ vs ++ slots n ++ every_index (argument n)) in
      slope_of k n (depends T' by_ k) (diff (slope T'') (place (fixed m) m (argument n))) vs
    else slope T'' k vs end.
End Slope.
Definition derivative (T : table) (by_ : nat) (at_ : seq index) (e : expr) : expr :=
  let k := above (at_ ++ every_index e) in diff (slope T by_ at_ T) (place (fixed k) k e).
