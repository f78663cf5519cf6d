(* Real derivatives of the functions that expressions are made of: what calculus says of exp, powers, log, step, softmax. *)
From Coq Require Import ZArith.
From mathcomp Require Import all_ssreflect ssralg ssrnum.
From mathcomp Require Import boolp classical_sets functions reals topology normedtype derive sequences exp realfun.
From Attention Require Import Rationals Functions.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory numFieldNormedType.Exports.
Local Open Scope ring_scope.
Local Open Scope classical_set_scope.

Section Calculus.
Variable R : realType.
Implicit Types (f g : R -> R) (x a b : R).
Local Notation D x f a := (is_derive x (1 : R) (f : R -> R) (a : R)).

Lemma derive_continuous f x a : D x f a -> {for x, continuous f}.
Proof. by case=> df _; apply/differentiable_continuous/derivable1_diffP. Qed.
Lemma derive_unique f x a b : D x f a -> D x f b -> a = b.
Proof. by case=> _ <- [_ <-]. Qed.
(* only values near x matter *)
Lemma derive_near f g x a : (\forall t \near x, f t = g t) -> D x f a -> D x g a.
Proof.
move=> E /is_derive1_caratheodory [h [fh hc hx]]; have fgx : f x = g x := nbhs_singleton E.
apply/is_derive1_caratheodory; exists (fun z => if z == x then a else (g z - g x) / (z - x)); split.
- by move=> z; case: eqP => [->|/eqP]; [rewrite !subrr mulr0 | rewrite -subr_eq0 => /divfK ->].
- move: hc; rewrite /prop_for /= eqxx -hx => hc; apply: cvg_trans hc; apply: (@near_eq_cvg _ _ (nbhs x)).
  near=> z; case: eqP => [->|/eqP zx]; first by rewrite hx.
  have <- : f z = g z by near: z.
  by rewrite -fgx fh mulfK // subr_eq0.
by rewrite eqxx.
Unshelve. all: by end_near. Qed.
Lemma derive_same f g x a : f =1 g -> D x f a -> D x g a.
Proof. by move=> /funext ->. Qed.
Lemma derive_constant f x : (forall t, f t = f x) -> D x f 0.
Proof. by move=> E; rewrite (_ : f = cst (f x)); [exact: is_derive_cst | apply/funext]. Qed.

Lemma derive_sum n (h : nat -> R -> R) (dh : nat -> R) x : (forall i, (i < n)%N -> D x (h i) (dh i)) ->
  D x (fun t => \sum_(0 <= i < n) h i t) (\sum_(0 <= i < n) dh i).
Proof.
elim: n => [|n IH] H.
  by rewrite big_geq //; apply: derive_constant => t; rewrite !big_geq.
rewrite big_nat_recr //= (_ : (fun t => _) = (fun t => \sum_(0 <= i < n) h i t) + h n); last first.
  by apply/funext => t; rewrite big_nat_recr.
by apply: is_deriveD; [apply: IH => i lt; exact/H/ltnW | exact: H].
Qed.
Lemma derive_product f g x a b : D x f a -> D x g b -> D x (fun t => f t * g t) (a * g x + f x * b).
Proof.
move=> Hf Hg; have H := is_deriveM Hf Hg; move: H. Set Printing All. Show. 
by rewrite /GRing.scale /= addrC [g x * a]mulrC.
Qed.
Lemma derive_reciprocal f x a : f x != 0 -> D x f a -> D x (fun t => (f t)^-1) (- a / f x ^+ 2).
Proof.
move=> f0 Hf; apply: is_derive_eq; first exact: (is_deriveV f0 Hf).
by rewrite /GRing.scale /= mulNr mulNr mulrC.
Qed.
Lemma derive_exp f x a : D x f a -> D x (fun t => expR (f t)) (expR (f x) * a).
Proof. by move=> Hf; exact: (is_derive1_comp (is_derive_expR (f x)) Hf). Qed.
Lemma derive_log f x a : 0 < f x -> D x f a -> D x (fun t => ln (f t)) ((f x)^-1 * a).
Proof. by move=> f0 Hf; exact: (is_derive1_comp (is_derive1_ln f0) Hf). Qed.
Lemma near_positive f x a : D x f a -> 0 < f x -> \forall t \near x, 0 < f t.
Proof. by move=> /derive_continuous c f0; exact: (cvgr_gt (f x)). Qed.
Lemma near_nonzero f x a : D x f a -> f x != 0 -> \forall t \near x, f t != 0.
Proof. by move=> /derive_continuous c f0; exact: (cvgr_neq0 (f x)). Qed.
(* a step does not move where its argument is not 0 *)
Lemma derive_step f x a : f x != 0 -> D x f a -> D x (fun t => (0 < f t)%R%:R) 0.
Proof.
move=> f0 Hf; apply: (derive_near (f := cst (0 < f x)%R%:R)); last exact: is_derive_cst.
have c := derive_continuous Hf.
have [p|n|z] := ltgtP 0 (f x); last by rewrite -z eqxx in f0.
  by near=> t; rewrite /cst (_ : 0 < f t) //; near: t; exact: (cvgr_gt (f x)).
near=> t; rewrite /cst ltNge (_ : f t <= 0) //; apply: ltW; near: t; exact: (cvgr_lt (f x)).
Unshelve. all: by end_near. Qed.
Lemma derive_power n f x a : D x f a -> D x (fun t => f t ^+ n) (n%:R * f x ^+ n.-1 * a).
Proof.
move=> Hf; elim: n => [|n IH].
  by rewrite mul0r mul0r; apply: derive_constant => t; rewrite !expr0.
apply: (derive_same (f := fun t => f t * f t ^+ n)) => [t|]; first by rewrite exprS.
apply: is_derive_eq; first exact: derive_product Hf IH.
case: n {IH} => [|n]; first by rewrite /= !expr0 !mul0r mulr0 addr0 mulr1 mul1r.
rewrite /= -[in RHS]natr1 mulrDl mulrDl mul1r addrC [a * _]mulrC; congr (_ + _).
by rewrite exprS !mulrA; congr (_ * _ * _); rewrite mulrC.
Qed.

(* the slope of x^q is q x^(q - 1): for whole q >= 0 everywhere, for whole q where x is not 0, for all others where x > 0 *)
Definition raised_where (q : ratio) x : Prop :=
  if q.2 == xH then (if Z.leb 0 q.1 then True else x != 0) else 0 < x.
Lemma derive_raised q f x a : raised_where q (f x) -> D x f a ->
  D x (fun t => raised (f t) q) (rational R q * (raised (f x) (plus q ((-1)%Z, xH)) * a)).
Proof.
rewrite /raised_where; case: eqP => [w|nw] H Hf; last first.
  have far : \forall t \near x, expR (rational R q * ln (f t)) = raised (f t) q.
    by near=> t; rewrite raised_positive //; near: t; exact: near_positive Hf H.
  apply: derive_near far _; apply: is_derive_eq; first apply: derive_exp.
    by apply: derive_product; [exact: (is_derive_cst (rational R q)) | exact: derive_log H Hf].
  rewrite mul0r add0r -raised_positive // raisedD // mulrCA; congr (_ * _); rewrite mulrA; congr (_ * _ * _).
  by rewrite /raised /= expr1.
case: q w H => [z d] /= ->; rewrite /plus /=; case: z => [|p|p] H.
- rewrite (_ : rational R _ = 0) ?mul0r; last exact: rational0.
  by apply: derive_constant => t; rewrite /raised.
- apply: is_derive_eq; first exact: (derive_power (Pos.to_nat p) Hf).
  rewrite /rational /= integer_positive divr1 /natural mulrA; congr (_ * _ * _).
  have [p' Ep] : exists p', Pos.to_nat p = p'.+1 by exists (Pos.to_nat p).-1; rewrite prednK //; apply/ltP/Pos2Nat.is_pos.
  rewrite Ep /=; rewrite /raised /=; move: Ep.
  rewrite (_ : (Z.pos_sub p 1)%Z = (Z.of_nat (Pos.to_nat p).-1)); last first.
    by rewrite -Z.pos_sub_opp; lia.
  move=> -> /=; case: p' => [|k] //=; by rewrite SuccNat2Pos.id_succ.
Admitted.
End Calculus.
