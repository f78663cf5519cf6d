(* Real derivatives of the functions that expressions are made of: what calculus says of exp, powers, log, step, softmax. *)
From Coq Require Import ZArith Lia.
From mathcomp Require Import all_ssreflect ssralg ssrnum.
From mathcomp Require Import boolp classical_sets functions reals topology normedtype derive sequences exp realfun.
From Attention Require Import Rationals Functions.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory numFieldNormedType.Exports.
Local Open Scope ring_scope.
Local Open Scope classical_set_scope.

(* f has the derivative a at x *)
Definition slope_at (R : realType) (f : R -> R) (x a : R) : Prop := is_derive x (1 : R) (f : R -> R) a.

Section Calculus.
Variable R : realType.
Implicit Types (f g : R -> R) (x a b : R).

Lemma slope_as f x a b : slope_at f x a -> a = b -> slope_at f x b. Proof. by move=> ? <-. Qed.
Lemma slope_same f g x a : f =1 g -> slope_at f x a -> slope_at g x a. Proof. by move=> /funext ->. Qed.
Lemma slope_continuous f x a : slope_at f x a -> {for x, continuous f}.
Proof. by case=> df _; apply/differentiable_continuous/derivable1_diffP. Qed.
Lemma slope_unique f x a b : slope_at f x a -> slope_at f x b -> a = b.
Proof. by case=> _ <- [_ <-]. Qed.
Lemma slope_value f x a : slope_at f x a -> a = 'D_1 f x. Proof. by case. Qed.
Lemma slope_of_constant c x : slope_at (fun=> c : R) x 0. Proof. exact: is_derive_cst. Qed.
Lemma slope_constant f x : (forall t, f t = f x) -> slope_at f x 0.
Proof. by move=> E; apply: slope_same (slope_of_constant (f x) x). Qed.
Lemma slope_line c d x : slope_at (fun t => c + t * d : R) x d.
Proof.
have H := is_deriveD (is_derive_cst c x 1) (@is_deriveZ _ _ _ id d x 1 _ (is_derive_id x 1)).
apply: (slope_same (f := cst c + d *: id)) => [t|]; first by rewrite [t * d]mulrC.
by apply: slope_as H _; rewrite add0r /GRing.scale /= mulr1.
Qed.
(* only values near x matter *)
Lemma slope_near f g x a : (\forall t \near x, f t = g t) -> slope_at f x a -> slope_at g x a.
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

Lemma slope_add f g x a b : slope_at f x a -> slope_at g x b -> slope_at (fun t => f t + g t) x (a + b).
Proof. by move=> Hf Hg; exact: (is_deriveD Hf Hg). Qed.
Lemma slope_mul f g x a b : slope_at f x a -> slope_at g x b -> slope_at (fun t => f t * g t) x (a * g x + f x * b).
Proof.
move=> Hf Hg; have H := is_deriveM Hf Hg; apply: (slope_as H).
by rewrite /GRing.scale /= addrC [g x * a]mulrC.
Qed.
Lemma slope_scale c f x a : slope_at f x a -> slope_at (fun t => c * f t) x (c * a).
Proof. by move=> Hf; apply: (slope_as (slope_mul (slope_of_constant c x) Hf)); rewrite mul0r add0r. Qed.
Lemma slope_sum n (h : nat -> R -> R) (dh : nat -> R) x : (forall i, (i < n)%N -> slope_at (h i) x (dh i)) ->
  slope_at (fun t => \sum_(0 <= i < n) h i t) x (\sum_(0 <= i < n) dh i).
Proof.
elim: n => [|n IH] H; first by rewrite big_geq //; apply: slope_constant => t; rewrite !big_geq.
rewrite big_nat_recr //=; apply: (slope_same (f := fun t => \sum_(0 <= i < n) h i t + h n t)).
  by move=> t; rewrite big_nat_recr.
by apply: slope_add; [apply: IH => i lt; exact/H/ltnW | exact: H].
Qed.
Lemma slope_reciprocal f x a : f x != 0 -> slope_at f x a -> slope_at (fun t => (f t)^-1) x (- (a / f x ^+ 2)).
Proof.
move=> f0 Hf; have H := @is_deriveV R f x a 1 f0 Hf; apply: (slope_as H).
by rewrite /GRing.scale /= mulNr mulrC.
Qed.
Lemma slope_exp f x a : slope_at f x a -> slope_at (fun t => expR (f t)) x (expR (f x) * a).
Proof. by move=> Hf; exact: (is_derive1_comp (is_derive_expR (f x)) Hf). Qed.
Lemma slope_log f x a : 0 < f x -> slope_at f x a -> slope_at (fun t => ln (f t)) x ((f x)^-1 * a).
Proof. by move=> f0 Hf; exact: (is_derive1_comp (is_derive1_ln f0) Hf). Qed.

Lemma near_positive f x a : slope_at f x a -> 0 < f x -> \forall t \near x, 0 < f t.
Proof. by move=> /slope_continuous c f0; exact: (cvgr_gt (f x) c). Qed.
Lemma near_nonzero f x a : slope_at f x a -> f x != 0 -> \forall t \near x, f t != 0.
Proof. by move=> /slope_continuous c f0; exact: (cvgr_neq0 (f x) c). Qed.
(* a step does not move where its argument is not 0 *)
Lemma slope_step f x a : f x != 0 -> slope_at f x a -> slope_at (fun t => (0 < f t)%R%:R) x 0.
Proof.
move=> f0 /slope_continuous c; apply: slope_near (slope_of_constant (0 < f x)%R%:R x).
have [p|n|z] := ltgtP 0 (f x); last by rewrite -z eqxx in f0.
  by near=> t; rewrite (_ : 0 < f t) //; near: t; exact: (cvgr_gt (f x) c).
near=> t; rewrite ltNge (_ : f t <= 0) //; apply: ltW; near: t; exact: (cvgr_lt (f x) c).
Unshelve. all: by end_near. Qed.
Lemma slope_power n f x a : slope_at f x a -> slope_at (fun t => f t ^+ n) x (n%:R * f x ^+ n.-1 * a).
Proof.
move=> Hf; elim: n => [|n IH].
  by rewrite mul0r mul0r; apply: slope_constant => t; rewrite !expr0.
rewrite (_ : (fun t => _) = fun t => f t * f t ^+ n); last by apply/funext => t; rewrite exprS.
apply: (slope_as (slope_mul Hf IH)).
case: n {IH} => [|n]; first by rewrite !expr0 !mul0r mulr0 addr0 !mulr1 mul1r.
rewrite [n.+2%:R]mulrSr /= mulrDl mulrDl mul1r addrC [a * _]mulrC; congr (_ + _).
by rewrite exprS !mulrA [f x * _]mulrC.
Qed.

(* the slope of x^q is q x^(q - 1): for whole q >= 0 everywhere, for whole q where x is not 0, for all others where x > 0 *)
Definition raised_where (q : ratio) x : Prop :=
  if q.2 == xH then (if Z.leb 0 q.1 then True else x != 0) else 0 < x.
Lemma raised_natural x n : raised x (Z.of_nat n, xH) = x ^+ n.
Proof. by case: n => [|n] //; rewrite /raised /= SuccNat2Pos.id_succ. Qed.
Lemma slope_raised q f x a : raised_where q (f x) -> slope_at f x a ->
  slope_at (fun t => raised (f t) q) x (rational R q * (raised (f x) (plus q ((-1)%Z, xH)) * a)).
Proof.
rewrite /raised_where; case: eqP => [w|nw] H Hf; last first.
  have far : \forall t \near x, expR (rational R q * ln (f t)) = raised (f t) q.
    near=> t; rewrite [RHS]raised_positive //; near: t; exact: near_positive Hf H.
  apply: (slope_near far); apply: (slope_as (slope_exp (slope_scale (rational R q) (slope_log H Hf)))).
  rewrite -raised_positive // raisedD // mulrCA; congr (_ * _); rewrite mulrA; congr (_ * _ * _).
have whole z : plus (z, xH) ((-1)%Z, xH) = ((z - 1)%Z, xH) by rewrite /plus.
case: q w H => [z d] /= ->; rewrite whole; case: z => [|p|p] H.
- rewrite (_ : rational R _ = 0) ?mul0r; last exact: rational0.
  by apply: slope_constant => t; rewrite /raised.
- apply: (slope_as (slope_power (Pos.to_nat p) Hf)).
  rewrite /rational integer_positive divr1 /natural mulrA (_ : (Z.pos p - 1)%Z = Z.of_nat (Pos.to_nat p).-1).
    by rewrite raised_natural.
  by case: (Pos.to_nat p) (positive_nat_Z p) (Pos2Nat.is_pos p) => [|n] E lt; [inversion lt | rewrite -E Nat2Z.inj_succ; lia].
apply: (slope_as (slope_reciprocal _ (slope_power (Pos.to_nat p) Hf))); first exact: expf_neq0.
rewrite /rational integer_negative divr1 /natural mulNr (_ : (Z.neg p - 1)%Z = Z.neg (p + 1)); last by lia.
rewrite /raised /= Pos2Nat.inj_add plusE addn1 -!mulrA; congr (- (_ * _)); rewrite [a * _]mulrC mulrA; congr (_ * _).
case: (Pos.to_nat p) (Pos2Nat.is_pos p) => [lt|n _]; first by inversion lt.
have E : f x ^+ n.+1 ^+ 2 = f x ^+ n * f x ^+ n.+2 by rewrite -exprM -exprD muln2 -addnn addSnnS.
by rewrite E invfM mulrA divff ?mul1r ?expf_neq0.
Unshelve. all: by end_near. Qed.

(* sums over several indices *)
Lemma slope_total ns (g : seq nat -> R -> R) (dg : seq nat -> R) x :
  (forall xs, within ns xs -> slope_at (g xs) x (dg xs)) ->
  slope_at (fun t => total ns (fun xs => g xs t)) x (total ns dg).
Proof.
elim: ns g dg => [|n ns IH] g dg H /=; first exact: (H [::]).
by apply: slope_sum => i lt; apply: IH => xs wx; apply: H; rewrite /= lt.
Qed.
Lemma total_scale ns (g : seq nat -> R) (c : R) : total ns (fun xs => c * g xs) = c * total ns g.
Proof. by elim: ns g => [|n ns IH] g //=; rewrite mulr_sumr; apply: eq_bigr => i _; exact: IH. Qed.
Lemma total_ext ns (g h : seq nat -> R) : g =1 h -> total ns g = total ns h. Proof. by move=> /funext ->. Qed.
Lemma total_positive ns (g : seq nat -> R) : all (fun n => 0 < n)%N ns -> (forall xs, 0 < g xs) -> 0 < total ns g.
Proof.
elim: ns g => [|[|n] ns IH] g //= pos g0; rewrite big_nat_recl //.
have p i : 0 < total ns (fun xs => g (i :: xs)) by exact: IH.
by rewrite ltr_paddr // sumr_ge0 // => i _; exact/ltW.
Qed.
(* the softmax: an exponential times the reciprocal of a sum of exponentials *)
Lemma slope_softmax k ns (A : R -> seq nat -> R) (dA : seq nat -> R) x xs : (k <= size ns)%N ->
  all (fun n => 0 < n)%N ns -> within ns xs ->
  (forall ys, within ns ys -> slope_at (fun t => A t ys) x (dA ys)) ->
  let m := (size ns - k)%N in
  slope_at (fun t => softmax k ns (cut ns (A t)) xs) x
    (softmax k ns (cut ns (A x)) xs *
       (dA xs - total (drop m ns) (fun ys => softmax k ns (cut ns (A x)) (take m xs ++ ys) * dA (take m xs ++ ys)))).
Proof.
move=> kn pos wx HA m.
have cutE t ys : within ns ys -> cut ns (A t) ys = A t ys by rewrite /cut => ->.
have sx := within_size wx.
have mx : (m <= size xs)%N by rewrite sx leq_subr.
have wt ys : within (drop m ns) ys -> within ns (take m xs ++ ys).
  elim: (m) (ns) (xs) wx => [|j IH] ns' zs; first by rewrite take0 drop0.
  by case: ns' zs => [|n ns'] [|z zs] //= /andP[-> w]; exact: IH.
pose Z t := total (drop m ns) (fun ys => expR (cut ns (A t) (take m xs ++ ys))).
have HZ : slope_at Z x (total (drop m ns) (fun ys => expR (cut ns (A x) (take m xs ++ ys)) * dA (take m xs ++ ys))).
  apply: slope_total => ys wy; apply: slope_exp; apply: slope_same (HA _ (wt _ wy)) => t; rewrite cutE //; exact: wt.
have Z0 : Z x != 0.
  rewrite gt_eqF // total_positive //; last by move=> ys; exact: expR_gt0.
  by apply/allP => n /mem_drop; move/allP: pos => /(_ n).
have HE : slope_at (fun t => expR (cut ns (A t) xs)) x (expR (cut ns (A x) xs) * dA xs).
  by apply: slope_exp; apply: slope_same (HA _ wx) => t; rewrite cutE.
apply: (slope_as (slope_mul HE (slope_reciprocal Z0 HZ))).
have soft ys : softmax k ns (cut ns (A x)) (take m xs ++ ys) = (Z x)^-1 * expR (cut ns (A x) (take m xs ++ ys)).
  by rewrite /softmax -/m take_size_cat ?size_takel // mulrC.
have -> : total (drop m ns) (fun ys => softmax k ns (cut ns (A x)) (take m xs ++ ys) * dA (take m xs ++ ys))
    = (Z x)^-1 * total (drop m ns) (fun ys => expR (cut ns (A x) (take m xs ++ ys)) * dA (take m xs ++ ys)).
  by rewrite -total_scale; apply: total_ext => ys; rewrite soft mulrA.
rewrite /softmax -/m -/(Z x) mulrBr mulrN; congr (_ - _); first exact: mulrAC.
by rewrite expr2 invfM -!mulrA; congr (_ * _); rewrite mulrC -mulrA.
Qed.
End Calculus.
